#include "server/exchange/torch_layout.h"

#include <gtest/gtest.h>

#include <set>

#include "server/exchange/export_formats.h"
#include "server/exchange/foreign_tensors.h"
#include "server/exchange/torch_export.h"
#include "shared/model/weights_match.h"
#include "tests/exchange/export_cases.h"

namespace murmurate {
namespace {

constexpr char kPicture[] =
    "observation uint8 2 2 3\naction discrete 2\nnormalize_observation 0\nnetworks 1\n"
    "network policy published trained\ndense 1 none\nhead action\n";

std::vector<std::string> Names(const std::vector<PlacedTensor>& tensors) {
  std::vector<std::string> names;
  for (const PlacedTensor& tensor : tensors) names.push_back(tensor.name);
  return names;
}

TEST(TorchLayout, FlattensPicturesChannelByChannel) {
  const WeightsFile file = RandomModel(kPicture, 1);
  const auto tensors = TorchLayout(file.spec, ParameterLayout(file.spec));
  EXPECT_EQ(tensors[0].name, "policy.0.weight");
  EXPECT_EQ(tensors[0].shape, (std::vector<int>{1, 12}));
  EXPECT_EQ(tensors[0].places, (std::vector<std::uint32_t>{0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11}));
}

TEST(TorchLayout, HasTheNamesOfTorchModules) {
  const WeightsFile file = RandomModel(
      "observation float32 2\naction continuous 1\nnormalize_observation 1\n"
      "state_dependent_deviation 0\nsquashed 0\nnetworks 1\nnetwork policy published trained\n"
      "layer_norm\nlstm 3\ngru 4\nhead action\n",
      1);
  const auto tensors = TorchLayout(file.spec, ParameterLayout(file.spec));
  EXPECT_EQ(Names(tensors),
            (std::vector<std::string>{
                "policy.0.weight", "policy.0.bias", "policy.1.weight_ih_l0",
                "policy.1.weight_hh_l0", "policy.1.bias_ih_l0", "policy.1.bias_hh_l0",
                "policy.2.weight_ih_l0", "policy.2.weight_hh_l0", "policy.2.bias_ih_l0",
                "policy.2.bias_hh_l0", "policy.head.weight", "policy.head.bias",
                "policy.log_deviation", "statistics.observation.count",
                "statistics.observation.mean", "statistics.observation.variance"}));
  EXPECT_EQ(tensors[2].shape, (std::vector<int>{12, 2}));
  EXPECT_EQ(tensors[5].added, 12u);
  EXPECT_EQ(tensors[9].added, 8u);
  EXPECT_EQ(tensors[10].shape, (std::vector<int>{1, 4}));
}

// Every number of a network that is no target has one place that is not added to.
TEST(TorchLayout, HasEveryNumberOnce) {
  for (const ExportCase& one : ExportCases()) {
    const WeightsFile file = RandomModel(one.model, 1);
    const ParameterLayout layout(file.spec);
    std::multiset<std::uint32_t> got, expected;
    for (const PlacedTensor& tensor : TorchLayout(file.spec, layout))
      got.insert(tensor.places.begin() + static_cast<std::ptrdiff_t>(tensor.added),
                 tensor.places.end());
    for (const TensorSlot& slot : layout.tensors)
      for (std::size_t i = 0; i < slot.count && !slot.name.starts_with("target"); ++i)
        expected.insert(static_cast<std::uint32_t>(slot.offset + i));
    EXPECT_EQ(got, expected) << one.name;
  }
}

// What is exported is imported again, number by number.
TEST(TorchLayout, GoesThereAndBack) {
  for (const ExportCase& one : ExportCases()) {
    const WeightsFile file = RandomModel(one.model, 1);
    const auto bytes = FormatExport(ExportFormats()[2], file, {{"all"}});
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    const auto theirs = ParseSafetensors(std::as_bytes(std::span<const char>(*bytes)));
    ASSERT_TRUE(theirs.ok()) << theirs.status();
    ASSERT_EQ(LayoutOf(*theirs, TensorLayout::kAuto), TensorLayout::kPytorch);
    const auto ours = InOurLayout(*theirs, file.spec, TensorLayout::kPytorch, {});
    ASSERT_TRUE(ours.ok()) << ours.status();
    for (const TensorSlot& slot : ParameterLayout(file.spec).tensors) {
      if (slot.name.starts_with("target")) continue;
      const NamedTensor* const tensor = ours->Find(slot.name);
      ASSERT_NE(tensor, nullptr) << slot.name;
      EXPECT_TRUE(std::ranges::equal(
          tensor->values, std::span<const float>(file.parameters).subspan(slot.offset, slot.count)))
          << one.name << " " << slot.name;
    }
    EXPECT_EQ(ours->metadata.at("murmurate.spec"), file.spec.ToText());
  }
}

}  // namespace
}  // namespace murmurate
