// cuDNN plans convolutions for GPUs that are described to it (tests/fixtures/gpus: public attributes of
// each kind), so what a model would meet there is known where there is none: every convolution of the
// bundled examples, of Nature-CNN and of IMPALA's deep network has a plan with the same bits each time
// and a workspace within the plug-in's bound. MURMURATE_ALL_PLANS=1 plans more sizes of minibatches.
#include "server/compute/device/cuda/cudnn_plans.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <tuple>

#include "client/environments/environment.h"
#include "server/config/config.h"
#include "server/config/examples.h"
#include "server/config/model_settings.h"
#include "server/config/run_settings.h"
#include "server/data/data_settings.h"
#include "server/device/device_input.h"
#include "server/device/device_settings.h"
#include "server/schema/model_config.h"
#include "shared/model/network_plan.h"
#include "tests/source_file.h"

// cuDNN and cuBLASLt keep memory where there is no driver, some of it in modules that are unloaded by
// the end: AddressSanitizer looks for no leaks here.
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }

namespace murmurate {
namespace {

using Kind = ConvolutionCall::Kind;

struct NamedConvolution {
  std::string name;
  ConvolutionCall shape;
};

bool AllPlans() { return std::getenv("MURMURATE_ALL_PLANS") != nullptr; }

std::vector<NamedConvolution> ConvolutionsOf(const std::string& name, const ModelSpec& spec,
                                             int images) {
  std::vector<NamedConvolution> found;
  for (const NetworkSpec& network : spec.networks) {
    const auto plan = PlanNetwork(spec, network.name);
    EXPECT_TRUE(plan.ok()) << plan.status().message();
    if (!plan.ok()) continue;
    for (std::size_t i = 0; i < plan->inputs.size(); ++i) {
      int block = BlockOfPicture(*plan, *plan, i);
      for (const PlannedLayer& layer : plan->inputs[i].layers) {
        if (layer.layer.kind != Layer::Kind::kConv) continue;
        found.push_back({name + ", " + layer.layer.ToText(),
                         {.images = images,
                          .height = layer.in.height / block,
                          .width = layer.in.width / block,
                          .channels = layer.in.channels * block * block,
                          .filters = layer.layer.units,
                          .kernel = layer.layer.kernel / block,
                          .stride = layer.layer.stride / block,
                          .padding = layer.layer.padding}});
        block = 1;
      }
    }
  }
  return found;
}

void Append(std::vector<NamedConvolution>* all, std::vector<NamedConvolution> more) {
  for (NamedConvolution& one : more) all->push_back(std::move(one));
}

/// Those of the examples that play a built-in game.
std::vector<NamedConvolution> ConvolutionsOfExamples() {
  std::vector<NamedConvolution> all;
  for (const Example& example : Examples()) {
    const auto source = FindConfig(example.name);
    if (!source.ok()) continue;
    const auto config = Config::Load(*source, {});
    if (!config.ok() || config->data().given() || config->run().environment.empty()) continue;
    const auto game = MakeEnvironment(config->run().environment, config->environment_options());
    if (!game.ok()) continue;
    const auto model = ModelFor(*config, "default", (*game)->spaces());
    EXPECT_TRUE(model.ok()) << example.name << ": " << model.status().message();
    if (!model.ok()) continue;
    Append(&all, ConvolutionsOf(example.name, model->spec, model->algorithm.minibatch));
  }
  return all;
}

std::vector<NamedConvolution> AllConvolutions() {
  std::vector<NamedConvolution> all = ConvolutionsOfExamples();
  EXPECT_FALSE(all.empty()) << "catch and gridworld have pictures";
  const Spaces pixels = {Image({84, 84, 1}), Discrete(18)};
  const ModelSpec nature = *MakeSpec({.trunk = "nature_cnn", .frame_stack = 4}, pixels);
  const ModelSpec deep = *MakeSpec({.trunk = "impala_cnn", .frame_stack = 4}, pixels);
  Append(&all, ConvolutionsOf("Nature-CNN", nature, 1024));
  Append(&all, ConvolutionsOf("IMPALA deep", deep, 256));
  Append(&all,
         {{"LeNet, conv 6 5 1 2",
           {.images = 64,
            .height = 28,
            .width = 28,
            .channels = 1,
            .filters = 6,
            .kernel = 5,
            .padding = 2}},
          {"LeNet, conv 16 5 1 0",
           {.images = 64, .height = 14, .width = 14, .channels = 6, .filters = 16, .kernel = 5}}});
  if (!AllPlans()) return all;
  for (const int images : {1, 33, 256, 2048})
    Append(&all, ConvolutionsOf("Nature-CNN", nature, images));
  for (const int images : {1, 33, 64}) Append(&all, ConvolutionsOf("IMPALA deep", deep, images));
  return all;
}

std::string Description(const std::string& gpu) {
  std::stringstream text;
  text << std::ifstream(SourceFile("tests/fixtures/gpus/" + gpu + ".json")).rdbuf();
  return text.str();
}

/// cuDNN, once for all tests; where it is missing `why` says so.
struct Cudnn {
  static const Cudnn& Get() {
    static const Cudnn cudnn;
    return cudnn;
  }
  std::string why;
  std::optional<CudnnFunctions> functions;

 private:
  Cudnn() {
    const auto library = CudaLibrary::Open(CudnnName());
    if (!library.ok()) {
      why = library.status().message();
      return;
    }
    int minor = 0;
    std::istringstream version(CudnnVersion(*library).substr(2));
    version >> minor;
    if (minor < 8) why = "cuDNN " + CudnnVersion(*library) + " plans for no described GPU";
    const auto found = CudnnFunctions::Of(*library);
    if (found.ok()) functions = *found;
  }
};

class CudnnPlans : public testing::TestWithParam<std::tuple<const char*, DevicePrecision>> {
 protected:
  void SetUp() override {
    if (!Cudnn::Get().why.empty()) GTEST_SKIP() << Cudnn::Get().why;
    ASSERT_TRUE(Cudnn::Get().functions.has_value());
  }
  static std::string gpu() { return std::get<0>(GetParam()); }
  static CudnnPlanRules rules() { return {.precision = std::get<1>(GetParam())}; }
  /// How the GPU keeps pictures of that precision.
  static ElementType pictures() {
    return gpu() == "t4" ? ElementType::kFloat32 : ArithmeticOf(rules().precision).pictures;
  }

  static Result<CudnnPlan> Plan(const std::string& description, const ConvolutionCall& shape,
                                const CudnnPlanRules& rules) {
    return PlanConvolution(*Cudnn::Get().functions, {.description = description}, shape, rules);
  }
};

TEST_P(CudnnPlans, AreThereForEveryConvolutionWithinTheBoundOfTheWorkspace) {
  const std::string description = Description(gpu());
  std::set<std::string> planned;
  for (NamedConvolution one : AllConvolutions()) {
    for (const Kind kind : {Kind::kForward, Kind::kInputGradient, Kind::kWeightGradient}) {
      one.shape.kind = kind;
      one.shape.pictures = pictures();
      const std::string what = gpu() + ": " + one.name + ", kind " +
                               std::to_string(static_cast<int>(kind)) + ", " +
                               std::to_string(one.shape.images) + " pictures";
      const auto plan = Plan(description, one.shape, rules());
      ASSERT_TRUE(plan.ok()) << what << ": " << plan.status().message();
      EXPECT_LE(plan->workspace_bytes, rules().workspace_bytes) << what;
      planned.insert(one.name);
    }
  }
  EXPECT_GE(planned.size(), 8u);
}

TEST_P(CudnnPlans, AreTheSameEachTime) {
  const std::string description = Description(gpu());
  const ConvolutionCall shape{.images = 1024,
                              .height = 20,
                              .width = 20,
                              .channels = 32,
                              .filters = 64,
                              .kernel = 4,
                              .stride = 2,
                              .pictures = pictures()};
  const auto first = Plan(description, shape, rules()), second = Plan(description, shape, rules());
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->engine, second->engine);
  EXPECT_EQ(first->workspace_bytes, second->workspace_bytes);
}

TEST_P(CudnnPlans, KeepToASmallerWorkspaceWhereOneWillDo) {
  const std::string description = Description(gpu());
  const ConvolutionCall shape{.images = 256,
                              .height = 84,
                              .width = 84,
                              .channels = 16,
                              .filters = 16,
                              .kernel = 3,
                              .padding = 1,
                              .pictures = pictures()};
  CudnnPlanRules small = rules();
  small.workspace_bytes = 0;
  const auto usual = Plan(description, shape, rules()), least = Plan(description, shape, small);
  ASSERT_TRUE(usual.ok() && least.ok());
  EXPECT_LE(least->workspace_bytes, usual->workspace_bytes);
}

std::string GpuAndPrecision(
    const testing::TestParamInfo<std::tuple<const char*, DevicePrecision>>& info) {
  return std::string(std::get<0>(info.param)) +
         (std::get<1>(info.param) == DevicePrecision::kFp32   ? "Fp32"
          : std::get<1>(info.param) == DevicePrecision::kTf32 ? "Tf32"
                                                              : "Bf16");
}
INSTANTIATE_TEST_SUITE_P(Described, CudnnPlans,
                         testing::Combine(testing::Values("h200", "a100", "l4", "t4"),
                                          testing::Values(DevicePrecision::kFp32,
                                                          DevicePrecision::kTf32,
                                                          DevicePrecision::kBf16)),
                         GpuAndPrecision);

TEST(CudnnPlan, OfBf16IsNotThereForTuring) {
  if (!Cudnn::Get().why.empty()) GTEST_SKIP() << Cudnn::Get().why;
  const auto none = PlanConvolution(*Cudnn::Get().functions, {.description = Description("t4")},
                                    {.images = 64,
                                     .height = 20,
                                     .width = 20,
                                     .channels = 32,
                                     .filters = 64,
                                     .kernel = 4,
                                     .stride = 2,
                                     .pictures = ElementType::kBf16},
                                    {.precision = DevicePrecision::kBf16});
  EXPECT_EQ(none.status().code(), StatusCode::kResource);
}

TEST(CudnnPlan, ThatCannotBeSaysForWhat) {
  if (!Cudnn::Get().why.empty()) GTEST_SKIP() << Cudnn::Get().why;
  const auto none = PlanConvolution(
      *Cudnn::Get().functions, {.description = "{}"},
      {.images = 1, .height = 8, .width = 8, .channels = 1, .filters = 1, .kernel = 3}, {});
  EXPECT_EQ(none.status().code(), StatusCode::kResource);
  EXPECT_NE(none.status().message().find("cuDNN"), std::string::npos) << none.status().message();
}

}  // namespace
}  // namespace murmurate
