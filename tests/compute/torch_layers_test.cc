// Every layer against what PyTorch gave for it (scripts/make_torch_layer_fixtures.py), on each
// kernel set.
#include "server/compute/convolution_gradient.h"
#include "server/compute/pool_and_norm_gradient.h"
#include "server/compute/recurrent_sequence.h"
#include "tests/compute/layer_check.h"
#include "tests/compute/torch_fixture.h"

namespace murmurate {
namespace {

constexpr double kTolerance = 2e-5;

void Expect(const std::vector<float>& got, const TorchFixture& torch, const std::string& key) {
  ASSERT_GE(got.size(), torch.Doubles(key).size()) << key;
  ExpectClose(got, torch.Doubles(key), kTolerance, kTolerance, key);
}

Window ReadWindow(const std::vector<std::int32_t>& s) {
  return {s[1], s[2], s[3], {s[5], s[6]}, {s[7], s[8]}, {s[9], s[10]}};
}

class TorchLayersTest : public LayerTest {};

TEST_P(TorchLayersTest, Convolutions) {
  for (const char* name : {"layer_conv_odd", "layer_conv_one", "layer_conv_wide_padding"}) {
    const TorchFixture torch(name);
    const std::vector<std::int32_t> shape = torch.Integers("shape");
    const Window window = ReadWindow(shape);
    const int images = shape[0], filters = shape[4];
    const std::vector<float> input = torch.Floats("input"), weight = torch.Floats("weight");
    const std::vector<float> bias = torch.Floats("bias"), dy = torch.Floats("d.output");
    std::vector<float> y = Poisoned(dy.size()), dx = Poisoned(input.size());
    std::vector<float> dw(weight.size()), db(bias.size());
    std::vector<float> scratch = Poisoned(ConvBackwardScratchFloats(window, filters, images));
    ConvForward({window, filters, images, input.data(), nullptr, weight.data(), bias.data(),
                 Epilogue::kNone, y.data(), scratch.data()},
                *forward);
    ConvBackward({window, filters, images, input.data(), nullptr, weight.data(), dy.data(),
                  dw.data(), db.data(), dx.data(), Epilogue::kNone, scratch.data()},
                 *backward);
    Expect(y, torch, "output");
    Expect(dx, torch, "d.input");
    Expect(dw, torch, "d.weight");
    Expect(db, torch, "d.bias");
  }
}

TEST_P(TorchLayersTest, Pools) {
  for (const char* name : {"layer_pool_impala", "layer_pool_even", "layer_pool_oblong"}) {
    const TorchFixture torch(name);
    const std::vector<std::int32_t> shape = torch.Integers("shape");
    const std::vector<float> input = torch.Floats("input"), dy = torch.Floats("d.output");
    std::vector<float> y = Poisoned(dy.size()), winner = y, dx = Poisoned(input.size());
    MaxPoolForward({ReadWindow(shape), shape[0], input.data(), y.data(), winner.data()}, *forward);
    MaxPoolBackward({ReadWindow(shape), shape[0], winner.data(), dy.data(), dx.data()}, *backward);
    Expect(y, torch, "output");
    Expect(dx, torch, "d.input");
  }
}

TEST_P(TorchLayersTest, LayerNorms) {
  for (const char* name : {"layer_norm", "layer_norm_one"}) {
    const TorchFixture torch(name);
    const int rows = torch.Integers("shape")[0], columns = torch.Integers("shape")[1];
    const std::vector<float> input = torch.Floats("input"), dy = torch.Floats("d.output");
    const std::vector<float> gain = torch.Floats("gain"), shift = torch.Floats("shift");
    std::vector<float> y = Poisoned(dy.size()), kept = Poisoned(2 * rows), dx = y;
    std::vector<float> d_gain(columns), d_shift(columns);
    LayerNormForward(
        {rows, columns, input.data(), gain.data(), shift.data(), y.data(), kept.data()}, *forward);
    LayerNormBackward({rows, columns, input.data(), gain.data(), kept.data(), dy.data(), dx.data(),
                       d_gain.data(), d_shift.data()},
                      *backward);
    Expect(y, torch, "output");
    Expect(dx, torch, "d.input");
    Expect(d_gain, torch, "d.gain");
    Expect(d_shift, torch, "d.shift");
  }
}

/// A fixture of a recurrent layer and room for all that comes out.
struct Recurrent {
  explicit Recurrent(const std::string& name) : torch(name), shape(torch.Integers("shape")) {
    for (const double v : torch.Doubles("first")) first.push_back(v != 0);
    x = torch.Floats("x"), w = torch.Floats("input_weight"), u = torch.Floats("hidden_weight");
    bias = torch.Floats("bias"), state0 = torch.Floats("state0"), d = torch.Floats("d.output");
    outputs = static_cast<std::size_t>(shape[0]) * shape[1] * shape[3];
    y = Poisoned(d.size()), dx = Poisoned(x.size()), d_state0 = Poisoned(state0.size());
    dw.resize(w.size()), du.resize(u.size()), db.resize(bias.size());
  }
  void ExpectAll() const {
    Expect(y, torch, "output");
    Expect(dx, torch, "d.x");
    Expect(dw, torch, "d.input_weight");
    Expect(du, torch, "d.hidden_weight");
    Expect(db, torch, "d.bias");
    Expect(d_state0, torch, "d.state0");
  }

  TorchFixture torch;
  std::vector<std::int32_t> shape;
  std::size_t outputs = 0;
  std::vector<std::uint8_t> first;
  std::vector<float> x, w, u, bias, state0, d, y, dx, dw, du, db, d_state0;
};

void Check(const RecurrentCell& cell, const std::string& name, const LayerKernels& forward,
           const LayerGradientKernels& backward) {
  Recurrent r(name);
  const int steps = r.shape[0], rows = r.shape[1], inputs = r.shape[2], hidden = r.shape[3];
  const std::vector<float> hidden_bias =
      cell.candidate ? r.torch.Floats("hidden_bias") : std::vector<float>();
  std::vector<float> block = Poisoned(RecurrentKeptFloats(cell, steps, rows, hidden)), dhb(hidden);
  std::vector<float> scratch = Poisoned(RecurrentBackwardScratchFloats(cell, rows, inputs, hidden));
  const RecurrentKept kept = RecurrentKeptIn(cell, steps, rows, hidden, block.data());
  RecurrentForward(
      cell,
      {steps, rows, inputs, hidden, r.x.data(), r.first.data(), r.state0.data(), r.w.data(),
       r.u.data(), r.bias.data(), hidden_bias.data(), r.y.data(), r.y.data() + r.outputs, kept},
      forward);
  RecurrentBackward(cell,
                    {steps, rows, inputs, hidden, r.x.data(), r.first.data(), r.w.data(),
                     r.u.data(), kept, r.d.data(), r.d.data() + r.outputs, r.dx.data(), r.dw.data(),
                     r.du.data(), r.db.data(), dhb.data(), r.d_state0.data(), scratch.data()},
                    backward);
  r.ExpectAll();
  if (cell.candidate) Expect(dhb, r.torch, "d.hidden_bias");
}

TEST_P(TorchLayersTest, Lstms) {
  for (const char* name : {"layer_lstm_resets", "layer_lstm_one"})
    Check(kLstmCell, name, *forward, *backward);
}

TEST_P(TorchLayersTest, Grus) {
  for (const char* name : {"layer_gru_resets", "layer_gru_one"})
    Check(kGruCell, name, *forward, *backward);
}

TEST_P(TorchLayersTest, Activations) {
  const TorchFixture torch("layer_activations");
  const auto check = [&](Epilogue epilogue, const std::string& key) {
    std::vector<float> values = torch.Floats("input");
    forward->apply(epilogue, values.size(), nullptr, values.data());
    ExpectClose(values, torch.Doubles(key), 1e-7, 3e-7, key);
  };
  check(Epilogue::kElu, "elu");
  check(Epilogue::kSigmoid, "sigmoid");
}

INSTANTIATE_TEST_SUITE_P(, TorchLayersTest, EachSet(), SetName);

}  // namespace
}  // namespace murmurate
