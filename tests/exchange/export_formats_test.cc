#include "server/exchange/export_formats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/exchange/export_cases.h"

namespace murmurate {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const ExportCase& Case(const std::string& name) {
  return *std::ranges::find(ExportCases(), name, &ExportCase::name);
}

const ExportFormat& Format(const std::string& name) {
  return *std::ranges::find(ExportFormats(), name, &ExportFormat::name);
}

TEST(ExportFormats, HaveTheNetworksThatAreAskedFor) {
  const WeightsFile file = RandomModel(Case("dueling_quantiles").model, 1);
  for (const char* format : {"onnx", "safetensors"}) {
    const std::string alone = *FormatExport(Format(format), file, {});
    EXPECT_THAT(alone, HasSubstr("policy.head.weight"));
    EXPECT_THAT(alone, Not(HasSubstr("value.head.weight")));
    const std::string one = *FormatExport(Format(format), file, {{"value", "value"}});
    EXPECT_THAT(one, HasSubstr("value.head.weight"));
    EXPECT_THAT(one, Not(HasSubstr("quantiles.head.weight")));
    const std::string all = *FormatExport(Format(format), file, {{"all"}});
    EXPECT_THAT(all, HasSubstr("quantiles.head.weight"));
    EXPECT_THAT(all, Not(HasSubstr("target.head.weight")));
  }
}

TEST(ExportFormats, RefuseWhatTheyCannotWrite) {
  const WeightsFile file = RandomModel(Case("dueling_quantiles").model, 1);
  EXPECT_EQ(FormatExport(Format("onnx"), file, {{"target"}}).status().message(),
            "--networks target: the model has no such network to export (it has value, "
            "quantiles); name one of these, or \"all\"");
  const WeightsFile plain = RandomModel(Case("previous_step").model, 1);
  EXPECT_EQ(FormatExport(Format("onnx"), plain, {{"value"}}).status().message(),
            "--networks value: the model has no such network to export (it has none but the "
            "policy); leave the option out");
  EXPECT_EQ(FormatExport(Format("policy"), file, {{"all"}}).status().message(),
            "--networks: a file of the format policy has the policy alone; take the option out, or "
            "use another --format");
  EXPECT_THAT(FormatExport(Format("unity"), plain, {}).status().message(),
              HasSubstr("the policy reads its previous action or reward"));
  const WeightsFile switches = RandomModel(Case("switches").model, 1);
  EXPECT_THAT(FormatExport(Format("unity"), switches, {}).status().message(),
              HasSubstr("the action has switches"));
  WeightsFile arrays;
  arrays.spec.arrays = {{"w", {2}}};
  EXPECT_EQ(FormatExport(Format("onnx"), arrays, {}).status().message(),
            "the model is a list of arrays of a program of its own and has no policy; export a run "
            "whose model murmurate made");
}

}  // namespace
}  // namespace murmurate
