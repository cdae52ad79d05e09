#include "server/compute/recurrent_sequence.h"
#include "tests/compute/recurrent_case.h"

namespace murmurate {
namespace {

/// All numbers that go in, in double; Run() gives the outputs [T][B][H] and then the last state.
struct Reference {
  RecurrentCase k;
  std::vector<double> x, w, u, bias, hidden_bias, state0;
  std::vector<std::uint8_t> first;

  std::vector<double> Run() const {
    const int n = k.hidden;
    std::vector<double> state = state0, outputs;
    for (int t = 0; t < k.steps; ++t)
      for (int b = 0; b < k.rows; ++b) {
        Row h(state.begin() + b * n, state.begin() + (b + 1) * n);
        if (first[t * k.rows + b] != 0) h.assign(n, 0);
        const double* const in = x.data() + (t * k.rows + b) * k.inputs;
        for (int j = 0; j < n; ++j) {
          double zx[3], zh[3];
          for (int gate = 0; gate < 3; ++gate) {
            zx[gate] = Product(in, k.inputs, w, 3 * n, gate * n + j) + bias[gate * n + j];
            zh[gate] = Product(h.data(), n, u, 3 * n, gate * n + j);
          }
          const double r = Logistic(zx[0] + zh[0]), z = Logistic(zx[1] + zh[1]);
          const double m = std::tanh(zx[2] + r * (zh[2] + hidden_bias[j]));
          state[b * n + j] = (1 - z) * m + z * h[j];
          outputs.push_back(state[b * n + j]);
        }
      }
    outputs.insert(outputs.end(), state.begin(), state.end());
    return outputs;
  }
};

struct Numbers {
  explicit Numbers(const RecurrentCase& k)
      : x(Normals(k.floats(k.inputs), 1)),
        w(Normals(static_cast<std::size_t>(k.inputs) * 3 * k.hidden, 2, 0.4f)),
        u(Normals(static_cast<std::size_t>(k.hidden) * 3 * k.hidden, 3, 0.4f)),
        bias(Normals(3 * k.hidden, 4, 0.3f)),
        hidden_bias(Normals(k.hidden, 7, 0.3f)),
        state0(Normals(k.rows * k.hidden, 5)),
        first(k.Firsts()) {}
  std::vector<float> x, w, u, bias, hidden_bias, state0;
  std::vector<std::uint8_t> first;

  Reference InDouble(const RecurrentCase& k) const {
    return {k,
            Doubles(x),
            Doubles(w),
            Doubles(u),
            Doubles(bias),
            Doubles(hidden_bias),
            Doubles(state0),
            first};
  }
};

class GruTest : public LayerTest {};

TEST_P(GruTest, GivesTheWorkedOutNumbers) {
  // One unit: r = z = sigmoid 0 = 0.5, n = tanh(0.25 + 0.5 (0.5 * 1 + 1)) = tanh 1,
  // h' = 0.5 tanh 1 + 0.5 * 0.5.
  const float x = 1.0f, hidden_bias = 1.0f;
  const std::vector<float> w = {0, 0, 0.25f}, u = {0, 0, 1}, bias = {0, 0, 0};
  std::vector<float> state = Poisoned(1), output = Poisoned(1), scratch = Poisoned(6);
  state[0] = 0.5f;
  RecurrentStep(kGruCell,
                {.rows = 1,
                 .inputs = 1,
                 .hidden = 1,
                 .x = &x,
                 .input_weight = w.data(),
                 .hidden_weight = u.data(),
                 .bias = bias.data(),
                 .hidden_bias = &hidden_bias,
                 .state = state.data(),
                 .output = output.data(),
                 .scratch = scratch.data()},
                *forward);
  ExpectValues(state, {0.630797}, "state", 1e-6);
  ExpectValues(output, {0.630797}, "output", 1e-6);
}

TEST_P(GruTest, StepsPackedOrNotAgreeWithTheDefinition) {
  for (const RecurrentCase& k : RecurrentCases()) {
    const Numbers in(k);
    Reference reference = in.InDouble(k);
    reference.k.steps = 1;
    reference.first.assign(k.rows, 0);
    std::vector<double> expected = reference.Run();
    expected.resize(k.rows * k.hidden);
    const std::vector<float> w = Packed(k.inputs, 3 * k.hidden, in.w, *forward->dense);
    const std::vector<float> u = Packed(k.hidden, 3 * k.hidden, in.u, *forward->dense);
    for (const bool packed : {false, true}) {
      std::vector<float> state = in.state0, output = Poisoned(k.rows * k.hidden);
      state.resize(state.size() + kFence, std::nanf(""));
      std::vector<float> scratch = Poisoned(RecurrentStepScratchFloats(kGruCell, k.rows, k.hidden));
      RecurrentStep(kGruCell,
                    {k.rows, k.inputs, k.hidden, in.x.data(), 0, packed ? w.data() : in.w.data(),
                     packed ? u.data() : in.u.data(), packed, in.bias.data(), in.hidden_bias.data(),
                     state.data(), output.data(), scratch.data()},
                    *forward);
      ExpectValues(state, expected, "state");
      ExpectValues(output, expected, "output");
      ExpectValues({scratch.end() - kFence, scratch.end()}, {}, "scratch");
    }
  }
}

TEST_P(GruTest, SequencesAgreeWithTheDefinitionAndWithFiniteDifferences) {
  for (const RecurrentCase& k : RecurrentCases()) {
    const Numbers in(k);
    std::vector<float> output = Poisoned(k.floats(k.hidden)), state = Poisoned(in.state0.size());
    std::vector<float> block = Poisoned(RecurrentKeptFloats(kGruCell, k.steps, k.rows, k.hidden));
    const RecurrentKept kept = RecurrentKeptIn(kGruCell, k.steps, k.rows, k.hidden, block.data());
    RecurrentForward(kGruCell,
                     {k.steps, k.rows, k.inputs, k.hidden, in.x.data(), in.first.data(),
                      in.state0.data(), in.w.data(), in.u.data(), in.bias.data(),
                      in.hidden_bias.data(), output.data(), state.data(), kept},
                     *forward);
    Reference r = in.InDouble(k);
    const std::vector<double> expected = r.Run();
    const auto end = expected.begin() + k.floats(k.hidden);
    ExpectValues(output, {expected.begin(), end}, "output");
    ExpectValues(state, {end, expected.end()}, "state");
    ExpectValues({block.end() - kFence, block.end()}, {}, "kept");

    const std::vector<float> d = Normals(expected.size(), 6);
    std::vector<float> scratch =
        Poisoned(RecurrentBackwardScratchFloats(kGruCell, k.rows, k.inputs, k.hidden));
    std::vector<float> dx = Poisoned(in.x.size()), d_state0 = Poisoned(in.state0.size());
    std::vector<float> dw(in.w.size(), 0.5f), du(in.u.size(), -0.5f), db(in.bias.size(), 2.0f);
    std::vector<float> dhb(k.hidden, 1.0f);
    RecurrentBackward(
        kGruCell,
        {k.steps, k.rows, k.inputs, k.hidden, in.x.data(), in.first.data(), in.w.data(),
         in.u.data(), kept, d.data(), d.data() + k.floats(k.hidden), dx.data(), dw.data(),
         du.data(), db.data(), dhb.data(), d_state0.data(), scratch.data()},
        *backward);
    const auto loss = [&] { return Dot(r.Run(), d); };
    ExpectGradient(loss, &r.x, dx, 0, "d_x");
    ExpectGradient(loss, &r.w, dw, 0.5, "d_input_weight");
    ExpectGradient(loss, &r.u, du, -0.5, "d_hidden_weight");
    ExpectGradient(loss, &r.bias, db, 2, "d_bias");
    ExpectGradient(loss, &r.hidden_bias, dhb, 1, "d_hidden_bias");
    ExpectGradient(loss, &r.state0, d_state0, 0, "d_state0");
    ExpectValues({dx.end() - kFence, dx.end()}, {}, "d_x");
    ExpectValues({scratch.end() - kFence, scratch.end()}, {}, "scratch");
  }
}

INSTANTIATE_TEST_SUITE_P(, GruTest, EachSet(), SetName);

}  // namespace
}  // namespace murmurate
