// Networks of every kind of layer, input and action, forward and backward.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "server/network/actor_critic.h"
#include "shared/inference/policy.h"
#include "shared/model/network_plan.h"
#include "shared/model/parameter_layout.h"
#include "tests/allocations.h"
#include "tests/network/network_reference.h"

namespace murmurate {
namespace {

std::vector<float> Normals(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random.Normal());
  return values;
}

/// One minibatch [steps][count] for a model, what comes out, and gradients to send back.
struct Minibatch {
  Minibatch(const ModelSpec& spec, int of_steps, int of_count, std::uint64_t seed = 1)
      : steps(of_steps),
        count(of_count),
        network(spec, steps * count),
        words(ObservationLayout(StackedObservation(spec)).row_bytes() / 4),
        parameters(RandomParameters(spec)),
        rows(RandomRows(spec, steps * count, seed)),
        first(steps * count),
        state0(Normals(static_cast<std::size_t>(count) * network.state_floats(), seed + 1)),
        state(state0.size()),
        logits(static_cast<std::size_t>(steps) * count * network.outputs()),
        values(steps * count),
        d_logits(Normals(logits.size(), seed + 2)),
        d_values(Normals(values.size(), seed + 3)),
        gradient(network.layout().trained_count(), 123.0f) {}

  void Forward() {
    const Sequences sequences{steps, count, first.data(), state0.data(), state.data()};
    network.Forward(parameters, rows.data(), steps * count, logits.data(), values.data(),
                    network.state_floats() > 0 ? &sequences : nullptr);
  }
  void Run() {
    Forward();
    network.Backward(parameters, d_logits.data(), d_values.data(), gradient);
  }
  /// Row `row` of this one takes what row `from` of the other has; values come back the same way.
  void AddRow(int row, const Minibatch& other, int from) {
    const std::size_t n = network.outputs();
    std::copy_n(other.rows.begin() + from * words, words, rows.begin() + row * words);
    std::copy_n(other.d_logits.begin() + from * n, n, d_logits.begin() + row * n);
    d_values[row] = other.d_values[from];
    first[row] = other.first[from];
  }
  void CopyState(int sequence, const Minibatch& other, int from) {
    const std::ptrdiff_t n = network.state_floats();
    std::copy_n(other.state0.begin() + from * n, n, state0.begin() + sequence * n);
  }

  int steps, count;
  ActorCritic network;
  std::size_t words;
  std::vector<float> parameters;
  std::vector<std::uint32_t> rows;
  std::vector<std::uint8_t> first;
  std::vector<float> state0, state, logits, values, d_logits, d_values, gradient;
};

void ExpectRow(const Minibatch& all, int row, const Minibatch& part, int of_part) {
  const int n = all.network.outputs();
  for (int j = 0; j < n; ++j)
    ASSERT_NEAR(part.logits[of_part * n + j], all.logits[row * n + j], 2e-5) << "row " << row;
  ASSERT_NEAR(part.values[of_part], all.values[row], 2e-5) << "row " << row;
}

class WholeNetworkTest : public testing::TestWithParam<NetworkCase> {
 protected:
  const ModelSpec spec = SpecOf(GetParam());
  const bool recurs = PlanNetwork(spec, "policy")->state_floats > 0;
};

double Loss(const NetworkReference& reference, const Minibatch& batch) {
  const auto outputs =
      reference.Evaluate(batch.rows, batch.steps, batch.count, batch.first, batch.state0);
  double loss = 0;
  for (std::size_t i = 0; i < batch.d_logits.size(); ++i)
    loss += batch.d_logits[i] * outputs.logits[i];
  for (std::size_t i = 0; i < batch.d_values.size(); ++i)
    loss += batch.d_values[i] * outputs.values[i];
  return loss;
}

void ExpectGradient(const Minibatch& batch, NetworkReference* reference) {
  constexpr double kStep = 1e-6;  // small: no relu may change sides
  for (const TensorSlot& slot : batch.network.layout().tensors) {
    if (slot.section == Section::kStatistics) continue;
    const std::size_t stride = std::max<std::size_t>(1, slot.count / 23);
    float largest = 1.0f;  // what cancels in a small sum is as large as other sums are
    for (std::size_t i = slot.offset; i < slot.offset + slot.count; ++i)
      largest = std::max(largest, std::abs(batch.gradient[i]));
    for (std::size_t i = slot.offset; i < slot.offset + slot.count; i += stride) {
      double& parameter = reference->parameters()[i];
      const double before = parameter;
      parameter = before + kStep;
      const double above = Loss(*reference, batch);
      parameter = before - kStep;
      const double slope = (above - Loss(*reference, batch)) / (2 * kStep);
      parameter = before;
      ASSERT_NEAR(batch.gradient[i], slope, 2e-5 + 2e-5 * std::abs(slope) + 5e-6 * largest)
          << slot.name << " [" << i - slot.offset << "]";
    }
  }
}

TEST_P(WholeNetworkTest, OutputsAndGradientsAreThoseOfTheReference) {
  for (const auto& [steps, count] : {std::pair{1, 1}, std::pair{5, 3}}) {
    Minibatch batch(spec, steps, count);
    if (steps > 1) batch.first[4] = batch.first[9] = batch.first[10] = 1;
    batch.Run();
    NetworkReference reference(spec, batch.parameters);
    const auto expected = reference.Evaluate(batch.rows, steps, count, batch.first, batch.state0);
    for (std::size_t i = 0; i < batch.logits.size(); ++i)
      ASSERT_NEAR(batch.logits[i], expected.logits[i], 2e-5) << i;
    for (std::size_t i = 0; i < batch.values.size(); ++i)
      ASSERT_NEAR(batch.values[i], expected.values[i], 2e-5) << i;
    for (std::size_t i = 0; i < batch.state.size(); ++i)
      ASSERT_NEAR(batch.state[i], expected.state[i], 2e-5) << i;
    ExpectGradient(batch, &reference);
  }
}

TEST_P(WholeNetworkTest, RowsDoNotDependOnEachOtherAndGradientsAdd) {
  if (recurs) return;    // PiecesOfSequencesRunApartGiveTheSame
  const int rows = 211;  // more than a chunk of rows, and of pictures
  Minibatch all(spec, 1, rows), alone(spec, 1, 1);
  all.Run();
  std::vector<double> sum(all.gradient.size());
  for (int row = 0; row < rows; ++row) {
    alone.AddRow(0, all, row);
    alone.Run();
    ExpectRow(all, row, alone, 0);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += alone.gradient[i];
  }
  for (std::size_t i = 0; i < sum.size(); ++i)
    ASSERT_NEAR(all.gradient[i], sum[i], 1e-3 + 1e-5 * std::abs(sum[i])) << i;
}

TEST_P(WholeNetworkTest, PiecesOfSequencesRunApartGiveTheSame) {
  if (!recurs) return;
  const int steps = 41, count = 5;
  Minibatch all(spec, steps, count);
  for (int i = 0; i < steps * count; ++i) all.first[i] = i * 7 % 23 == 0;
  all.Run();
  std::vector<double> sum(all.gradient.size());
  for (int sequence = 0; sequence < count; ++sequence) {
    for (int begin = 0, end; begin < steps; begin = end) {
      for (end = begin + 1; end < steps && all.first[end * count + sequence] == 0;) ++end;
      Minibatch piece(spec, end - begin, 1);
      piece.CopyState(0, all, sequence);  // first says where it does not matter
      for (int step = begin; step < end; ++step)
        piece.AddRow(step - begin, all, step * count + sequence);
      piece.Run();
      for (int step = begin; step < end; ++step)
        ExpectRow(all, step * count + sequence, piece, step - begin);
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += piece.gradient[i];
    }
  }
  for (std::size_t i = 0; i < sum.size(); ++i)
    ASSERT_NEAR(all.gradient[i], sum[i], 1e-3 + 1e-5 * std::abs(sum[i])) << i;
}

TEST_P(WholeNetworkTest, OneStepAtATimeWithTheStateHandedOnGivesTheSame) {
  const int steps = 6, count = 3;
  Minibatch all(spec, steps, count);
  all.first[7] = all.first[12] = 1;
  all.Forward();
  Minibatch step(spec, 1, count);
  step.state0 = all.state0;
  for (int t = 0; t < steps; ++t) {
    for (int i = 0; i < count; ++i) step.AddRow(i, all, t * count + i);
    step.Forward();
    for (int i = 0; i < count; ++i) ExpectRow(all, t * count + i, step, i);
    step.state0 = step.state;
  }
  for (std::size_t i = 0; i < all.state.size(); ++i)
    ASSERT_NEAR(step.state[i], all.state[i], 1e-5) << i;
}

TEST_P(WholeNetworkTest, ValuesAloneAreTheSameValues) {
  Minibatch batch(spec, 1, 37);
  batch.Forward();
  const Sequences sequences{1, 37, nullptr, batch.state0.data(), nullptr};
  std::vector<float> values(37, std::nanf(""));
  batch.network.Forward(batch.parameters, batch.rows.data(), 37, nullptr, values.data(),
                        &sequences);
  EXPECT_EQ(values, batch.values);
}

TEST_P(WholeNetworkTest, TheClientsPolicyGivesTheLearnersLogits) {
  const int count = 33;
  Minibatch batch(spec, 1, count);
  batch.Forward();
  const ParameterLayout& layout = batch.network.layout();
  Policy policy(spec);
  policy.Pack({batch.parameters.data() + layout.published.offset, layout.published.count},
              {batch.parameters.data() + layout.statistics.offset, layout.statistics.count});
  std::vector<float> scratch(policy.ScratchFloats(count)), logits(batch.logits.size());
  std::vector<float> state = batch.state0;
  policy.Forward(batch.rows.data(), count, logits.data(), scratch.data(), state.data());
  for (std::size_t i = 0; i < logits.size(); ++i)
    ASSERT_NEAR(logits[i], batch.logits[i], 4e-6) << i;  // pi/mu = 1 to 1e-5
  for (std::size_t i = 0; i < state.size(); ++i) ASSERT_NEAR(state[i], batch.state[i], 4e-6) << i;
}

TEST_P(WholeNetworkTest, ASecondMinibatchForgetsTheFirst) {
  Minibatch used(spec, 4, 5), fresh(spec, 4, 5);
  used.rows = RandomRows(spec, 20, 77);
  used.Run();
  used.rows = fresh.rows;
  std::ranges::fill(used.gradient, std::nanf(""));
  used.Run();
  fresh.Run();
  EXPECT_EQ(used.logits, fresh.logits);
  EXPECT_EQ(used.gradient, fresh.gradient);
}

TEST_P(WholeNetworkTest, NothingIsAllocatedAfterConstruction) {
  Minibatch batch(spec, 8, 25);
  const std::uint64_t before = Allocations();
  batch.Run();
  EXPECT_EQ(Allocations(), before);
}

INSTANTIATE_TEST_SUITE_P(, WholeNetworkTest, testing::ValuesIn(NetworkCases()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace murmurate
