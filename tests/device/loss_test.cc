// Losses on a device against those of server/network, with their sums and what stops a batch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "server/device/device_loss.h"
#include "server/learn/algorithms.h"
#include "server/learn/label_sums.h"
#include "server/learn/on_policy_sums.h"
#include "server/network/label_loss.h"
#include "server/network/policy_loss.h"
#include "tests/device/action_models.h"
#include "tests/device/device_blocks.h"
#include "tests/network/action_reference.h"

namespace murmurate {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
using Kind = LossForm::Kind;

/// A minibatch on the host, some of whose rows are padding: they hold NaN and weigh 0.
struct HostMinibatch {
  HostMinibatch(const ModelSpec& spec, int row_count, std::uint64_t seed)
      : layout(spec.spaces.action, spec.continuous),
        rows(row_count),
        actions(layout, rows, seed % 2 == 0, seed) {
    Random random(DeriveSeed(seed, 1));
    for (float& output : actions.outputs) output *= 0.3f;  // no ratio of two tiny densities
    const auto near = [&](double scale) { return static_cast<float>(scale * random.Normal()); };
    WidenDeviations();
    std::vector<float> log_prob(rows);
    ActionHeadRows(layout).Evaluate(on_host(), log_prob.data(), nullptr);
    for (int row = 0; row < rows; ++row) {
      weight.push_back(row % 3 == 2 ? 0.5f : 1.0f);
      behaviour.push_back(log_prob[row] + near(0.3));
      start.push_back(log_prob[row] + near(0.1));
      advantage.push_back(near(1));
      target.push_back(near(2));
      values.push_back(near(2));
    }
    for (int row = 1; row < rows; row += 5) MakePadding(row);
  }

  /// Puts the last log deviations above those that count.
  void WidenDeviations() {
    if (!actions.log_deviations.empty()) actions.log_deviations.back() = 2.5f;
    for (const ActionPart& part : layout.parts())
      if (part.kind == ActionPart::Kind::kContinuous && part.first_deviation < 0)
        actions.outputs[part.first_output + 2 * part.count - 1] = 2.5f;
  }
  void MakePadding(int row) {
    weight[row] = 0.0f;
    for (auto* column : {&behaviour, &start, &advantage, &target, &values}) (*column)[row] = kNan;
    for (int i = 0; i < layout.outputs(); ++i) actions.outputs[row * layout.outputs() + i] = kNan;
  }
  ActionRows on_host() const {
    return {.rows = rows,
            .outputs = actions.outputs.data(),
            .log_deviations = actions.log_deviations.data(),
            .actions = actions.actions.data(),
            .mask = actions.mask.data()};
  }

  const ActionLayout layout;
  const int rows;
  ActionBatch actions;
  std::vector<float> weight, behaviour, start, advantage, target, values;
};

/// What a loss gives for a minibatch.
struct LossAnswer {
  std::vector<float> d_outputs, d_values, d_log_deviations;
  TrainingControl control = {};
  std::set<std::string> unwritten = {};
};

std::unique_ptr<DeviceLoss> LossOf(Kind kind, const ModelSpec& spec, int rows,
                                   DeviceMemory* memory) {
  if (LossForm{.kind = kind}.of_policy())
    return std::make_unique<DevicePolicyLoss>(spec, kind, rows, memory);
  return std::make_unique<DeviceLabelLoss>(spec, kind, rows, memory);
}

std::vector<double> WeightParts(std::span<const float> weight) {
  std::vector<double> parts((weight.size() + kLossRows - 1) / kLossRows);
  for (std::size_t row = 0; row < weight.size(); ++row)
    parts[row / kLossRows] += double{weight[row]};
  return parts;
}

/// Records the loss before the device knows the control, and replays it.
LossAnswer AskDevice(Kind kind, const ModelSpec& spec, const HostMinibatch& host,
                     const TrainingControl& control, std::uint64_t seed = 0, int times = 1) {
  DeviceBlocks blocks(seed);
  const auto loss = LossOf(kind, spec, host.rows, blocks.memory());
  blocks.Allocate();
  loss->Upload(blocks.device(), Stream::kMain);
  const auto rows = static_cast<std::size_t>(host.rows);
  const std::size_t outputs = host.actions.outputs.size();
  const auto deviations = static_cast<std::size_t>(loss->head().free_deviations());
  const DeviceMinibatch minibatch{.rows = host.rows,
                                  .actions = blocks.Put(host.actions.actions),
                                  .mask = blocks.Put(host.actions.mask),
                                  .weight_parts = blocks.Put(WeightParts(host.weight)),
                                  .weight = blocks.Put(host.weight),
                                  .behaviour_log_prob = blocks.Put(host.behaviour),
                                  .start_log_prob = blocks.Put(host.start),
                                  .advantage = blocks.Put(host.advantage),
                                  .value_target = blocks.Put(host.target),
                                  .outputs = blocks.Put(host.actions.outputs),
                                  .values = blocks.Put(host.values),
                                  .log_deviations = blocks.Put(host.actions.log_deviations),
                                  .d_outputs = blocks.Room<float>(outputs),
                                  .d_values = blocks.Room<float>(rows),
                                  .d_log_deviations = blocks.Room<float>(deviations)};
  TrainingControl* const on_device = blocks.Put(TrainingControl{});
  blocks.device()->BeginGraph(Stream::kMain);
  loss->Enqueue(blocks.device(), Stream::kMain, minibatch, on_device);
  const DeviceGraph graph = blocks.device()->EndGraph(Stream::kMain);
  blocks.device()->CopyIn(Stream::kMain, on_device, &control, sizeof control);
  for (int i = 0; i < times; ++i) blocks.device()->Replay(Stream::kMain, graph);
  return {blocks.Read(minibatch.d_outputs, outputs), blocks.Read(minibatch.d_values, rows),
          blocks.Read(minibatch.d_log_deviations, deviations), blocks.Read(on_device),
          blocks.device()->unwritten()};
}

TrainingControl ControlOf(float clip, float dual_clip, float entropy) {
  TrainingControl control{};
  control.clip = clip;
  control.dual_clip = dual_clip;
  control.entropy = entropy;
  control.value_weight = 0.5f;
  return control;
}

LossAnswer PolicyOnHost(Kind kind, const HostMinibatch& host, const TrainingControl& control,
                        PolicyLossSums* sums) {
  const auto rows = static_cast<std::size_t>(host.rows);
  std::vector<float> log_prob(rows), entropy(rows), d_log_prob(rows), d_entropy(rows);
  const ActionHeadRows head(host.layout);
  head.Evaluate(host.on_host(), log_prob.data(), entropy.data());
  LossAnswer answer{std::vector<float>(host.actions.outputs.size()), std::vector<float>(rows),
                    std::vector<float>(host.actions.log_deviations.size())};
  *sums = (kind == Kind::kClippedRatio ? ClippedPolicyLoss : PolicyGradientLoss)(
      {control.clip, control.dual_clip, control.entropy, control.value_weight},
      {host.rows, log_prob.data(), entropy.data(), host.values.data(), host.behaviour.data(),
       host.advantage.data(), host.target.data(), host.weight.data(), host.start.data()},
      d_log_prob.data(), d_entropy.data(), answer.d_values.data(), nullptr);
  head.Gradient(host.on_host(), d_log_prob.data(), d_entropy.data(), answer.d_outputs.data(),
                answer.d_log_deviations.data());
  return answer;
}

void ExpectSums(const TrainingControl& control, const std::vector<double>& want,
                std::size_t first = 0) {
  for (std::size_t i = 0; i < want.size(); ++i)
    ExpectNear(control.sums[first + i], want[i], "a sum");
}

void ExpectSameBits(const LossAnswer& a, const LossAnswer& b) {
  EXPECT_TRUE(SameBits(a.d_outputs, b.d_outputs));
  EXPECT_TRUE(SameBits(a.d_values, b.d_values));
  EXPECT_TRUE(SameBits(a.d_log_deviations, b.d_log_deviations));
  EXPECT_EQ(std::memcmp(a.control.sums, b.control.sums, sizeof a.control.sums), 0);
}

void ExpectGradients(const LossAnswer& got, const LossAnswer& want) {
  ExpectNear(got.d_outputs, want.d_outputs, "d_outputs");
  ExpectNear(got.d_values, want.d_values, "d_values");
  ExpectNear(got.d_log_deviations, want.d_log_deviations, "d_log_deviations");
}

TEST(DevicePolicyLoss, EveryActionSpaceAsOnTheProcessor) {
  std::uint64_t seed = 0;
  for (const ModelSpec& spec : ManyActionModels()) {
    for (const int rows : kManyRows) {
      const Kind kind = ++seed % 2 == 0 ? Kind::kPolicyGradient : Kind::kClippedRatio;
      const HostMinibatch host(spec, rows, seed);
      SCOPED_TRACE(testing::Message() << host.layout.outputs() << " outputs, " << rows << " rows");
      const TrainingControl control = ControlOf(0.2f, seed % 4 == 1 ? 3.0f : 0.0f, 0.01f);
      PolicyLossSums sums;
      const LossAnswer want = PolicyOnHost(kind, host, control, &sums);
      const LossAnswer got = AskDevice(kind, spec, host, control);
      ExpectGradients(got, want);
      ExpectSums(got.control, {sums.weight, sums.policy_loss, sums.value_loss, sums.entropy,
                               sums.approx_kl, sums.clipped});
      EXPECT_EQ(got.control.begun, 1u);
      EXPECT_EQ(got.control.pass, 1u);
      EXPECT_EQ(got.control.sums[on_policy_sums::kUpdates], 1.0);
      EXPECT_EQ(got.control.stopped, 0u);
      if (rows % 32 == 1) ExpectSameBits(got, AskDevice(kind, spec, host, control, 7));
    }
  }
}

TEST(DevicePolicyLoss, TheDualClipTakesTheGradientOfUnlikelySteps) {
  const ModelSpec spec = ManyActionModels()[0];
  HostMinibatch host(spec, 64, 3);
  for (int row = 0; row < 64; ++row) {  // ratios from 0.1 to 10
    host.behaviour[row] = host.start[row] + 2.3f * (row / 31.5f - 1.0f);
    host.advantage[row] = -1.0f;
  }
  PolicyLossSums sums;
  const TrainingControl control = ControlOf(0.2f, 2.0f, 0.0f);
  ExpectGradients(AskDevice(Kind::kClippedRatio, spec, host, control),
                  PolicyOnHost(Kind::kClippedRatio, host, control, &sums));
  const TrainingControl off = ControlOf(0.2f, 0.0f, 0.0f);
  EXPECT_NE(AskDevice(Kind::kClippedRatio, spec, host, off).d_outputs,
            AskDevice(Kind::kClippedRatio, spec, host, control).d_outputs);
}

TEST(DevicePolicyLoss, AMinibatchWithoutWeightHasNoGradient) {
  const ModelSpec spec = ManyActionModels()[6];
  HostMinibatch host(spec, 40, 2);
  for (int row = 0; row < host.rows; ++row) host.MakePadding(row);
  const LossAnswer got = AskDevice(Kind::kClippedRatio, spec, host, ControlOf(0.2f, 0.0f, 0.01f));
  for (const auto* block : {&got.d_outputs, &got.d_values, &got.d_log_deviations})
    EXPECT_EQ(*block, std::vector<float>(block->size()));
  EXPECT_EQ(got.control.sums[on_policy_sums::kEntropy], 0.0);
}

TEST(DevicePolicyLoss, TheUpdateThatWentTooFarIsCountedAndTheLastOne) {
  const ModelSpec spec = ManyActionModels()[0];
  const HostMinibatch host(spec, 33, 2);
  TrainingControl control = ControlOf(0.2f, 0.0f, 0.0f);
  const LossAnswer free = AskDevice(Kind::kClippedRatio, spec, host, control);
  const double kl =
      free.control.sums[on_policy_sums::kApproxKl] / free.control.sums[on_policy_sums::kWeight];
  control.most_kl = static_cast<float>(1.01 * kl);
  const LossAnswer near = AskDevice(Kind::kClippedRatio, spec, host, control, 0, 2);
  EXPECT_EQ(near.control.stopped, 0u);
  EXPECT_EQ(near.control.begun, 2u);
  control.most_kl = static_cast<float>(0.99 * kl);
  const LossAnswer far = AskDevice(Kind::kClippedRatio, spec, host, control, 0, 3);
  EXPECT_EQ(far.control.stopped, 1u);
  EXPECT_EQ(far.control.begun, 1u);
  EXPECT_EQ(far.control.pass, 3u) << "the passes go on without it";
  EXPECT_EQ(far.control.sums[on_policy_sums::kUpdates], 0.0);
  EXPECT_EQ(far.control.sums[on_policy_sums::kWeight], free.control.sums[on_policy_sums::kWeight]);
}

LossAnswer LabelsOnHost(Kind kind, const HostMinibatch& host, LabelLossSums* sums) {
  LossAnswer answer{std::vector<float>(host.actions.outputs.size()),
                    std::vector<float>(static_cast<std::size_t>(host.rows)),
                    std::vector<float>(host.actions.log_deviations.size())};
  LabelLoss loss(host.layout,
                 kind == Kind::kSquaredError ? LabelLoss::Numbers::kSquaredError
                                             : LabelLoss::Numbers::kLikelihood,
                 host.rows);
  *sums = loss.Evaluate(host.on_host(), host.weight.data(), answer.d_outputs.data(),
                        answer.d_log_deviations.data());
  return answer;
}

std::vector<double> ListOf(const LabelLossSums& sums) {
  return {sums.weight, sums.loss, sums.choices, sums.right, sums.numbers, sums.distance};
}

/// Forgets every fourth label of a number.
void ForgetLabels(HostMinibatch* host) {
  for (const ActionPart& part : host->layout.parts()) {
    if (part.kind != ActionPart::Kind::kContinuous) continue;
    for (int row = 0; row < host->rows; row += 4)
      host->actions.actions[row * host->layout.words() + part.first_word] =
          std::bit_cast<std::int32_t>(kNan);
  }
}

TEST(DeviceLabelLoss, EveryActionSpaceAsOnTheProcessor) {
  std::uint64_t seed = 0;
  for (const ModelSpec& spec : ManyActionModels()) {
    for (const int rows : kManyRows) {
      for (const Kind kind : {Kind::kSquaredError, Kind::kLikelihood}) {
        HostMinibatch host(spec, rows, ++seed);
        if (kind == Kind::kSquaredError) ForgetLabels(&host);
        SCOPED_TRACE(testing::Message() << host.layout.outputs() << " outputs, " << rows);
        LabelLossSums sums;
        const LossAnswer want = LabelsOnHost(kind, host, &sums);
        const LossAnswer got = AskDevice(kind, spec, host, TrainingControl{});
        ExpectGradients(got, want);
        ExpectSums(got.control, ListOf(sums));
        EXPECT_EQ(got.control.begun, 1u);
        if (rows % 32 == 1) ExpectSameBits(got, AskDevice(kind, spec, host, TrainingControl{}, 7));
      }
    }
  }
}

TEST(DeviceLabelLoss, CountsWhatIsLearnedAndWhatIsScored) {
  const ModelSpec spec = ManyActionModels()[6];
  const HostMinibatch host(spec, 33, 1);
  LabelLossSums sums;
  (void)LabelsOnHost(Kind::kSquaredError, host, &sums);
  const auto ask = [&](std::uint32_t pass, std::uint32_t scores, std::uint32_t scored_too) {
    TrainingControl control{};
    control.pass = pass;
    control.scores = scores;
    control.scored_too = scored_too;
    control.first_update = 2;
    control.updates_a_pass = 3;
    return AskDevice(Kind::kSquaredError, spec, host, control).control;
  };
  const std::vector<double> all = ListOf(sums), none(all.size());
  const auto expect = [&](const TrainingControl& control, bool learned, bool scored) {
    ExpectSums(control, learned ? all : none, label_sums::kLearned);
    ExpectSums(control, scored ? all : none, label_sums::kScored);
  };
  expect(ask(2, 0, 0), true, false);
  expect(ask(2, 1, 0), false, true);
  expect(ask(4, 0, 1), true, true);
  expect(ask(5, 0, 1), true, false);
}

/// Nothing was left by blocks that end at once.
TEST(DeviceLoss, OfABatchThatWasLeftReadsNothingThatWasNotWritten) {
  const ModelSpec spec = ManyActionModels()[0];
  const HostMinibatch host(spec, 33, 2);
  for (const Kind kind : {Kind::kClippedRatio, Kind::kSquaredError}) {
    TrainingControl control = ControlOf(0.2f, 0.0f, 0.0f);
    control.stopped = 1;
    const LossAnswer got = AskDevice(kind, spec, host, control);
    ++control.pass;  // and nothing else
    EXPECT_EQ(std::memcmp(&got.control, &control, sizeof control), 0);
    EXPECT_THAT(got.unwritten, testing::IsEmpty());
  }
}

TEST(DeviceLoss, IsTheOneThatTheAlgorithmSays) {
  const ModelSpec spec = ManyActionModels()[0];
  AlgorithmSettings settings;
  const auto norm_sums = [&](const char* name) {
    settings.kind = AlgorithmNamed(name);
    DeviceMemory memory;
    return MakeDeviceLoss(spec, settings, 8, &memory)->norm_sums();
  };
  EXPECT_EQ(norm_sums("ppo"), static_cast<int>(on_policy_sums::kPolicyGradient));
  EXPECT_EQ(norm_sums("impala"), static_cast<int>(on_policy_sums::kPolicyGradient));
  EXPECT_EQ(norm_sums("supervised"), -1);
  EXPECT_EQ(norm_sums("bc"), -1);
}

TEST(LossForm, OfOnePassIsTheClippedRatioWhereABatchHasSeveralMinibatches) {
  AlgorithmSettings settings;
  settings.epochs = 1;
  settings.minibatch = settings.batch_steps;
  const auto form = [&](const char* name) { return AlgorithmNamed(name)->loss(settings); };
  EXPECT_EQ(form("impala").kind, Kind::kPolicyGradient);
  EXPECT_TRUE(form("impala").weighs_advantage);
  EXPECT_FALSE(form("a2c").weighs_advantage);
  EXPECT_EQ(form("ppo").kind, Kind::kClippedRatio);
  settings.minibatch = settings.batch_steps / 2;
  EXPECT_EQ(form("impala").kind, Kind::kClippedRatio);
  EXPECT_FALSE(form("impala").weighs_advantage);
  EXPECT_EQ(form("supervised").kind, Kind::kSquaredError);
  EXPECT_EQ(form("bc").kind, Kind::kLikelihood);
}

}  // namespace
}  // namespace murmurate
