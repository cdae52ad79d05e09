#include "server/compute/recurrent_sequence.h"
#include "tests/compute/recurrent_case.h"

namespace murmurate {
namespace {

/// All numbers that go in, in double; run() gives the outputs [T][B][H] and then the last state.
struct Reference {
  RecurrentCase k;
  std::vector<double> x, w, u, bias, state0;
  std::vector<std::uint8_t> first;

  std::vector<double> Run() const {
    const int n = k.hidden;
    std::vector<double> state = state0, outputs;
    for (int t = 0; t < k.steps; ++t)
      for (int b = 0; b < k.rows; ++b) {
        Row h(state.begin() + b * 2 * n, state.begin() + (b * 2 + 1) * n);
        Row c(state.begin() + (b * 2 + 1) * n, state.begin() + (b * 2 + 2) * n);
        if (first[t * k.rows + b] != 0) h.assign(n, 0), c.assign(n, 0);
        const double* const in = x.data() + (t * k.rows + b) * k.inputs;
        for (int j = 0; j < n; ++j) {
          double z[4];
          for (int gate = 0; gate < 4; ++gate)
            z[gate] = Product(in, k.inputs, w, 4 * n, gate * n + j) +
                      Product(h.data(), n, u, 4 * n, gate * n + j) + bias[gate * n + j];
          const double cell = Logistic(z[1]) * c[j] + Logistic(z[0]) * std::tanh(z[2]);
          state[(b * 2 + 1) * n + j] = cell;
          state[b * 2 * n + j] = Logistic(z[3]) * std::tanh(cell);
          outputs.push_back(state[b * 2 * n + j]);
        }
      }
    outputs.insert(outputs.end(), state.begin(), state.end());
    return outputs;
  }
};

struct Numbers {
  explicit Numbers(const RecurrentCase& k)
      : x(Normals(k.floats(k.inputs), 1)),
        w(Normals(static_cast<std::size_t>(k.inputs) * 4 * k.hidden, 2, 0.4f)),
        u(Normals(static_cast<std::size_t>(k.hidden) * 4 * k.hidden, 3, 0.4f)),
        bias(Normals(4 * k.hidden, 4, 0.3f)),
        state0(Normals(2 * k.rows * k.hidden, 5)),
        first(k.Firsts()) {}
  std::vector<float> x, w, u, bias, state0;
  std::vector<std::uint8_t> first;

  Reference InDouble(const RecurrentCase& k) const {
    return {k, Doubles(x), Doubles(w), Doubles(u), Doubles(bias), Doubles(state0), first};
  }
};

class LstmTest : public LayerTest {};

TEST_P(LstmTest, GivesTheWorkedOutNumbers) {
  // One unit, all gates' sums 0 but g = 1: c' = 0.5 c + 0.5 tanh 1, h' = 0.5 tanh c'.
  const float x = 1.0f;
  const std::vector<float> w = {0, 0, 0.75f, 0}, u = {0, 0, 0.5f, 0}, bias = {0, 0, 0, 0};
  std::vector<float> state = Poisoned(2), output = Poisoned(1), scratch = Poisoned(4);
  state[0] = 0.5f;
  state[1] = 2.0f;
  RecurrentStep(kLstmCell,
                {.rows = 1,
                 .inputs = 1,
                 .hidden = 1,
                 .x = &x,
                 .input_weight = w.data(),
                 .hidden_weight = u.data(),
                 .bias = bias.data(),
                 .state = state.data(),
                 .output = output.data(),
                 .scratch = scratch.data()},
                *forward);
  ExpectValues(state, {0.4405648, 1.380797}, "state", 1e-6);
  ExpectValues(output, {0.4405648}, "output", 1e-6);
}

TEST_P(LstmTest, StepsPackedOrNotAgreeWithTheDefinition) {
  for (const RecurrentCase& k : RecurrentCases()) {
    const Numbers in(k);
    Reference reference = in.InDouble(k);
    reference.k.steps = 1;
    reference.first.assign(k.rows, 0);
    std::vector<double> expected = reference.Run();
    const std::vector<double> h(expected.begin(), expected.begin() + k.rows * k.hidden);
    expected.erase(expected.begin(), expected.begin() + k.rows * k.hidden);
    const std::vector<float> w = Packed(k.inputs, 4 * k.hidden, in.w, *forward->dense);
    const std::vector<float> u = Packed(k.hidden, 4 * k.hidden, in.u, *forward->dense);
    for (const bool packed : {false, true}) {
      std::vector<float> state = in.state0, output = Poisoned(k.rows * k.hidden);
      state.resize(state.size() + kFence, std::nanf(""));
      std::vector<float> scratch =
          Poisoned(RecurrentStepScratchFloats(kLstmCell, k.rows, k.hidden));
      RecurrentStep(kLstmCell,
                    {k.rows, k.inputs, k.hidden, in.x.data(), 0, packed ? w.data() : in.w.data(),
                     packed ? u.data() : in.u.data(), packed, in.bias.data(), nullptr, state.data(),
                     output.data(), scratch.data()},
                    *forward);
      ExpectValues(state, expected, "state");
      ExpectValues(output, h, "output");
      ExpectValues({scratch.end() - kFence, scratch.end()}, {}, "scratch");
    }
  }
}

TEST_P(LstmTest, SequencesAgreeWithTheDefinitionAndWithFiniteDifferences) {
  for (const RecurrentCase& k : RecurrentCases()) {
    const Numbers in(k);
    std::vector<float> output = Poisoned(k.floats(k.hidden)), state = Poisoned(in.state0.size());
    std::vector<float> block = Poisoned(RecurrentKeptFloats(kLstmCell, k.steps, k.rows, k.hidden));
    const RecurrentKept kept = RecurrentKeptIn(kLstmCell, k.steps, k.rows, k.hidden, block.data());
    RecurrentForward(
        kLstmCell,
        {k.steps, k.rows, k.inputs, k.hidden, in.x.data(), in.first.data(), in.state0.data(),
         in.w.data(), in.u.data(), in.bias.data(), nullptr, output.data(), state.data(), kept},
        *forward);
    Reference r = in.InDouble(k);
    const std::vector<double> expected = r.Run();
    const auto end = expected.begin() + k.floats(k.hidden);
    ExpectValues(output, {expected.begin(), end}, "output");
    ExpectValues(state, {end, expected.end()}, "state");
    ExpectValues({block.end() - kFence, block.end()}, {}, "kept");

    const std::vector<float> d = Normals(expected.size(), 6);
    std::vector<float> scratch =
        Poisoned(RecurrentBackwardScratchFloats(kLstmCell, k.rows, k.inputs, k.hidden));
    std::vector<float> dx = Poisoned(in.x.size()), d_state0 = Poisoned(in.state0.size());
    std::vector<float> dw(in.w.size(), 0.5f), du(in.u.size(), -0.5f), db(in.bias.size(), 2.0f);
    RecurrentBackward(
        kLstmCell,
        {k.steps, k.rows, k.inputs, k.hidden, in.x.data(), in.first.data(), in.w.data(),
         in.u.data(), kept, d.data(), d.data() + k.floats(k.hidden), dx.data(), dw.data(),
         du.data(), db.data(), nullptr, d_state0.data(), scratch.data()},
        *backward);
    const auto loss = [&] { return Dot(r.Run(), d); };
    ExpectGradient(loss, &r.x, dx, 0, "d_x");
    ExpectGradient(loss, &r.w, dw, 0.5, "d_input_weight");
    ExpectGradient(loss, &r.u, du, -0.5, "d_hidden_weight");
    ExpectGradient(loss, &r.bias, db, 2, "d_bias");
    ExpectGradient(loss, &r.state0, d_state0, 0, "d_state0");
    ExpectValues({dx.end() - kFence, dx.end()}, {}, "d_x");
    ExpectValues({scratch.end() - kFence, scratch.end()}, {}, "scratch");
  }
}

TEST_P(LstmTest, WhatIsNotWantedMayBeLeftOut) {
  const RecurrentCase k = {6, 3, 5, 7};
  const Numbers in(k);
  std::vector<float> output = Poisoned(k.floats(k.hidden));
  std::vector<float> block = Poisoned(RecurrentKeptFloats(kLstmCell, k.steps, k.rows, k.hidden));
  const RecurrentKept kept = RecurrentKeptIn(kLstmCell, k.steps, k.rows, k.hidden, block.data());
  RecurrentForward(
      kLstmCell,
      {k.steps, k.rows, k.inputs, k.hidden, in.x.data(), in.first.data(), nullptr, in.w.data(),
       in.u.data(), in.bias.data(), nullptr, output.data(), nullptr, kept},
      *forward);
  Reference r = in.InDouble(k);
  r.state0.assign(r.state0.size(), 0.0);
  std::vector<double> expected = r.Run();
  expected.resize(k.floats(k.hidden));
  ExpectValues(output, expected, "output from a zero state");
  const std::vector<float> d = Normals(expected.size(), 6);
  std::vector<float> scratch =
      Poisoned(RecurrentBackwardScratchFloats(kLstmCell, k.rows, k.inputs, k.hidden));
  std::vector<float> dw(in.w.size()), du(in.u.size()), db(in.bias.size());
  RecurrentBackward(kLstmCell,
                    {k.steps, k.rows, k.inputs, k.hidden, in.x.data(), in.first.data(), in.w.data(),
                     in.u.data(), kept, d.data(), nullptr, nullptr, dw.data(), du.data(), db.data(),
                     nullptr, nullptr, scratch.data()},
                    *backward);
  const auto loss = [&] {
    std::vector<double> y = r.Run();
    y.resize(d.size());
    return Dot(y, d);
  };
  ExpectGradient(loss, &r.u, du, 0, "d_hidden_weight");
}

INSTANTIATE_TEST_SUITE_P(, LstmTest, EachSet(), SetName);

}  // namespace
}  // namespace murmurate
