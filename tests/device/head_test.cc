// The head on a device against ActionHeadRows.
#include <gtest/gtest.h>

#include "server/device/device_head.h"
#include "server/network/action_head_rows.h"
#include "tests/device/action_models.h"
#include "tests/device/device_blocks.h"
#include "tests/network/action_reference.h"

namespace murmurate {
namespace {

struct HeadAnswer {
  std::vector<float> log_prob, entropy, deviation;
};

HeadAnswer AskDevice(const ModelSpec& spec, const ActionBatch& batch, int rows,
                     std::uint64_t seed) {
  DeviceBlocks blocks(seed);
  const DeviceHead head(spec, blocks.memory());
  blocks.Allocate();
  head.Upload(blocks.device(), Stream::kMain);
  const auto n = static_cast<std::size_t>(rows);
  float* const log_prob = blocks.Room<float>(n);
  float* const entropy = blocks.Room<float>(n);
  float* const deviation = head.has_deviations() ? blocks.Room<float>(n) : nullptr;
  head.Evaluate(blocks.device(), Stream::kMain,
                {.outputs = blocks.Put(batch.outputs),
                 .log_deviations = blocks.Put(batch.log_deviations),
                 .actions = blocks.Put(batch.actions),
                 .mask = blocks.Put(batch.mask)},
                rows, log_prob, entropy, deviation);
  return {blocks.Read(log_prob, n), blocks.Read(entropy, n),
          blocks.Read(deviation, deviation == nullptr ? 0 : n)};
}

TEST(DeviceHead, EveryActionSpaceAsOnTheProcessor) {
  int seed = 0;
  for (const ModelSpec& spec : ManyActionModels()) {
    const ActionLayout layout(spec.spaces.action, spec.continuous);
    const ActionHeadRows head(layout);
    for (const int rows : kManyRows) {
      SCOPED_TRACE(testing::Message() << layout.outputs() << " outputs, " << rows << " rows");
      ++seed;
      ActionBatch batch(layout, rows, seed % 2 == 0, seed);
      if (!batch.outputs.empty()) batch.outputs[0] = 3e4f;  // far from all others
      std::vector<float> log_prob(rows), entropy(rows), deviation;
      const ActionRows on_host{.rows = rows,
                               .outputs = batch.outputs.data(),
                               .log_deviations = batch.log_deviations.data(),
                               .actions = batch.actions.data(),
                               .mask = batch.mask.data()};
      head.Evaluate(on_host, log_prob.data(), entropy.data());
      for (int row = 0; row < rows && head.has_deviations(); ++row)
        deviation.push_back(static_cast<float>(head.MeanDeviation(on_host, row)));
      const HeadAnswer got = AskDevice(spec, batch, rows, 0);
      ExpectNear(got.log_prob, log_prob, "log_prob");
      ExpectNear(got.entropy, entropy, "entropy");
      ExpectNear(got.deviation, deviation, "deviation");
      const HeadAnswer again = AskDevice(spec, batch, rows, 7);
      EXPECT_TRUE(SameBits(got.log_prob, again.log_prob));
    }
  }
}

TEST(DeviceHead, AMaskThatForbidsEverythingCountsAsNone) {
  const ModelSpec spec = ManyActionModels()[1];
  const ActionLayout layout(spec.spaces.action, spec.continuous);
  ActionBatch batch(layout, 4, false, 1);
  const HeadAnswer all = AskDevice(spec, batch, 4, 0);
  std::ranges::fill(batch.mask, std::uint8_t{0});
  EXPECT_TRUE(SameBits(AskDevice(spec, batch, 4, 0).log_prob, all.log_prob));
}

TEST(DeviceHead, AForbiddenChoiceIsAsImprobableAsOnTheProcessor) {
  const ModelSpec spec = ManyActionModels()[0];
  ActionBatch batch(ActionLayout(spec.spaces.action), 1, false, 1);
  batch.mask[batch.actions[0]] = 0;
  EXPECT_EQ(AskDevice(spec, batch, 1, 0).log_prob[0], -1e9f);
}

}  // namespace
}  // namespace murmurate
