// Pictures of bf16: how numbers are rounded, convolutions over them, whole networks and training beside
// float32, and what memory that takes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "server/compute/device/calls/transpose.h"
#include "server/compute/device/kernel_language.h"
#include "tests/device/device_numbers.h"
#include "tests/device/example_models.h"
#include "tests/device/host_library.h"
#include "tests/device/network_run.h"
#include "tests/network/network_reference.h"

namespace murmurate {
namespace {

using Floats = std::vector<float>;
/// The largest relative error of a number that is rounded to 8 bits of mantissa.
constexpr double kRounding = 1.0 / 256;

float FromBits(std::uint32_t bits) {
  float number;
  std::memcpy(&number, &bits, sizeof number);
  return number;
}

TEST(Bf16, HoldsEveryNumberOfItsOwn) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float wide = Widened(Bf16{static_cast<std::uint16_t>(bits)});
    if (std::isnan(wide)) continue;
    ASSERT_EQ(Narrowed<Bf16>(wide).bits, bits);
  }
}

TEST(Bf16, IsTheNearestAndOfTwoTheEvenOne) {
  const auto rounded = [](std::uint32_t bits) { return Narrowed<Bf16>(FromBits(bits)).bits; };
  EXPECT_EQ(rounded(0x3f807fff), 0x3f80);
  EXPECT_EQ(rounded(0x3f808000), 0x3f80) << "halfway, below is even";
  EXPECT_EQ(rounded(0x3f808001), 0x3f81);
  EXPECT_EQ(rounded(0x3f818000), 0x3f82) << "halfway, above is even";
  EXPECT_EQ(rounded(0xbf818000), 0xbf82);
  EXPECT_EQ(rounded(0x3fffffff), 0x4000) << "into the next exponent";
  EXPECT_EQ(rounded(0x7f7fffff), 0x7f80) << "above the largest is infinite";
  EXPECT_EQ(rounded(0x7f800000), 0x7f80);
  EXPECT_EQ(rounded(0x00000001), 0x0000);
  EXPECT_TRUE(std::isnan(Widened(Narrowed<Bf16>(FromBits(0x7f800001)))))
      << "what tells it from infinity lies in the lower half";
  EXPECT_TRUE(std::isnan(Widened(Narrowed<Bf16>(FromBits(0xffffffff)))));
}

TEST(Bf16, OfANumberIsNoFurtherFromItThanTheRounding) {
  for (const float number : {1.00390625f, 1.0f / 3, 254.0f / 255, -3.14159f, 1e-30f, 7e30f})
    EXPECT_LE(std::abs(Widened(Narrowed<Bf16>(number)) - number), kRounding * std::abs(number));
}

TEST(Bf16, WeightsAreRoundedAsTheyAreTurnedOverAndWidenedBack) {
  HostDevice device;
  const Floats from = {1.0f, 1.0f / 3, -2.7f, 1e9f, 0.1f, 5.0f};
  const DeviceNumbers source(&device, from), half(&device, DeviceNumbers::Count{3}),
      back(&device, DeviceNumbers::Count{6});
  const TransposeCall there{source.data(),         half.data(),       2, 3,
                            ElementType::kFloat32, ElementType::kBf16};
  device.Launch(Stream::kMain, TransposeGrid(there), there);
  const TransposeCall home{half.data(), back.data(),        3,
                           2,           ElementType::kBf16, ElementType::kFloat32};
  device.Launch(Stream::kMain, TransposeGrid(home), home);
  Floats expected = from;
  for (float& number : expected) number = Widened(Narrowed<Bf16>(number));
  EXPECT_EQ(back.Read(), expected);
}

/// The largest difference over the largest number expected.
double Apart(const Floats& got, const Floats& expected, std::size_t begin, std::size_t count) {
  double largest = 0, apart = 0;
  for (std::size_t i = begin; i < begin + count; ++i) {
    if (!std::isfinite(got[i])) return std::numeric_limits<double>::infinity();
    largest = std::max(largest, std::abs(double{expected[i]}));
    apart = std::max(apart, std::abs(double{got[i]} - expected[i]));
  }
  return largest == 0 ? apart : apart / largest;
}
double Apart(const Floats& got, const Floats& expected) {
  return Apart(got, expected, 0, expected.size());
}

/// Layers of pictures that round what they give: all but residual, which passes its rows on.
int RoundingLayers(const ModelSpec& spec) {
  const NetworkPlan plan = *PlanNetwork(spec, "policy");
  int layers = 1;  // the picture itself
  for (const PlannedLayer& layer : plan.inputs[0].layers)
    if (layer.layer.kind != Layer::Kind::kResidual) ++layers;
  return layers;
}

/// A layer rounds its filters and what it gives, and reads what was rounded: three roundings of
/// 2^-8 each, of numbers that are no larger than the tensor's largest. On the way back there are as
/// many again, where no slope jumps.
void ExpectWithinTheRounding(const ModelSpec& spec, const NetworkNumbers& halves,
                             const NetworkNumbers& floats) {
  const double forward = 3 * RoundingLayers(spec) * kRounding;
  EXPECT_LE(Apart(halves.outputs, floats.outputs), forward);
  EXPECT_LE(Apart(halves.values, floats.values), forward);
  EXPECT_GT(Apart(halves.outputs, floats.outputs), kRounding / 256) << "nothing was rounded";
  if (spec.ToText().find("relu") != std::string::npos) return;
  const ParameterLayout layout(spec);
  for (const TensorSlot& slot : layout.tensors) {
    if (slot.section == Section::kStatistics) continue;
    EXPECT_LE(Apart(halves.gradient, floats.gradient, slot.offset, slot.count), 2 * forward)
        << slot.name;
  }
}

HostDeviceOptions OfBf16() {
  HostDeviceOptions options;
  options.pictures = ElementType::kBf16;
  return options;
}

std::vector<ExampleModel> Models() {
  std::vector<ExampleModel> models = ModelsOfPictures();
  models.push_back(
      {"every layer of pictures",
       SpecOf({"",
               "observation uint8 12 10 3\naction discrete 5\ninput - stack 1\n"
               "conv 8 3 1 1 elu\nlayer_norm\nmax_pool 3 2 1\nresidual\nconv 8 3 1 1 tanh\n"
               "relu\nadd\nsigmoid\nflatten\ndense 20 tanh\ntrunk\ndense 12 relu\n"
               "separate_value 0\nnormalize_observation 0\n"})});
  return models;
}

/// The same with slopes that do not jump.
ModelSpec Smooth(const ModelSpec& spec) {
  std::string text = spec.ToText();
  for (std::size_t at; (at = text.find("relu")) != std::string::npos;) text.replace(at, 4, "elu");
  return *ModelSpec::Parse(text);
}

TEST(Bf16, NetworksOfPicturesAgreeWithFloat32ToTheRounding) {
  for (const ExampleModel& model : Models()) {
    SCOPED_TRACE(model.name);
    for (const ModelSpec& spec : {model.spec, Smooth(model.spec)}) {
      const NetworkRows rows(spec, 2, 2);
      NetworkOnDevice halves(spec, rows.rows(), OfBf16());
      ExpectWithinTheRounding(spec, halves.Run(rows), rows.OnThisProcessor());
    }
  }
}

TEST(Bf16, NetworksHaveTheSameBitsInEveryOrderOfThreads) {
  const ModelSpec smallest =
      SpecOf({"",
              "observation uint8 4 4 1\naction discrete 2\ninput - stack 1\nconv 2 2 1 0 elu\n"
              "flatten\ntrunk\ndense 3 tanh\nseparate_value 0\nnormalize_observation 0\n"});
  for (const ModelSpec& spec : {smallest, Models().back().spec}) {
    const NetworkRows rows(spec, 1, 9);
    const NetworkNumbers numbers = NetworkOnDevice(spec, rows.rows(), OfBf16()).Run(rows);
    HostDeviceOptions options = OfBf16();
    options.seed = 7;
    EXPECT_EQ(NetworkOnDevice(spec, rows.rows() + 3, std::move(options)).Run(rows), numbers);
  }
}

TEST(Bf16, PicturesTakeHalfTheMemory) {
  for (const ExampleModel& model : ModelsOfPictures()) {
    SCOPED_TRACE(model.name);
    constexpr int kRows = 64;
    const NetworkOnDevice floats(model.spec, kRows), halves(model.spec, kRows, OfBf16());
    EXPECT_EQ(2 * halves.inputs()[0].numbers.bytes(), floats.inputs()[0].numbers.bytes());
    const auto activations = [](const NetworkOnDevice& device) {
      return static_cast<double>(device.memory().bytes(MemoryPurpose::kActivations));
    };
    // What is flattened lies there twice, and vectors and the winners of pools are as they were.
    EXPECT_LT(activations(halves) / activations(floats), 0.6);
    EXPECT_EQ(halves.memory().bytes(MemoryPurpose::kParameters),
              floats.memory().bytes(MemoryPurpose::kParameters));
  }
}

TEST(Bf16, IsForEncodersWithConvolutionsAlone) {
  const auto type = [](const std::string& layers) {
    const ModelSpec spec =
        SpecOf({"", "observation uint8 8 8 2\naction discrete 5\ninput - stack 1\n" + layers +
                        "\ntrunk\nseparate_value 0\nnormalize_observation 0\n"});
    const NetworkPlan plan = *PlanNetwork(spec, "policy");
    return TypeOfInput(plan, plan, 0, ElementType::kBf16);
  };
  EXPECT_EQ(type("conv 4 3 1 0 relu\nflatten\ndense 5 tanh"), ElementType::kBf16);
  EXPECT_EQ(type("max_pool 2 2 0\nconv 4 3 1 0 relu\nflatten"), ElementType::kBf16);
  EXPECT_EQ(type("flatten\ndense 5 tanh"), ElementType::kFloat32);
  EXPECT_EQ(type("max_pool 2 2 0\nflatten"), ElementType::kFloat32);
  EXPECT_EQ(type("conv 4 8 1 0 relu\ndense 5 tanh"), ElementType::kFloat32)
      << "one pixel is a vector without being flattened";
}

/// Against sums in double of the rounded numbers.
TEST(Bf16, ConvolutionsOfTheHostDeviceSumRoundedNumbers) {
  using Kind = ConvolutionCall::Kind;
  constexpr int kSize = 5, kFilters = 3;
  const auto some = [](std::size_t count) {
    std::vector<Bf16> numbers(count);
    for (std::size_t i = 0; i < count; ++i)
      numbers[i] = Narrowed<Bf16>(std::sin(1.7f * static_cast<float>(i + count)));
    return numbers;
  };
  for (const Kind kind : {Kind::kForward, Kind::kInputGradient, Kind::kWeightGradient}) {
    std::vector<Bf16> input = some(kSize * kSize * 2), output = some(4 * 4 * kFilters);
    Floats weight(2 * 2 * 2 * kFilters);
    for (std::size_t i = 0; i < weight.size(); ++i)
      weight[i] = std::cos(0.3f * static_cast<float>(i));
    std::vector<double> sums(kind == Kind::kForward         ? output.size()
                             : kind == Kind::kInputGradient ? input.size()
                                                            : weight.size());
    for (int at = 0; at < 4 * 4 * 2 * 2 * 2 * kFilters; ++at) {
      const int f = at % 3, c = at / 3 % 2, kx = at / 6 % 2, ky = at / 12 % 2, ox = at / 24 % 4,
                oy = at / 96;
      const int i = ((oy + ky) * kSize + ox + kx) * 2 + c, w = ((ky * 2 + kx) * 2 + c) * 3 + f,
                o = (oy * 4 + ox) * 3 + f;
      const double rounded = Widened(Narrowed<Bf16>(weight[w]));
      if (kind == Kind::kForward) sums[o] += Widened(input[i]) * rounded;
      if (kind == Kind::kInputGradient) sums[i] += Widened(output[o]) * rounded;
      if (kind == Kind::kWeightGradient) sums[w] += double{Widened(output[o])} * Widened(input[i]);
    }
    HostConvolve({.kind = kind,
                  .height = kSize,
                  .width = kSize,
                  .channels = 2,
                  .filters = kFilters,
                  .kernel = 2,
                  .pictures = ElementType::kBf16,
                  .input = input.data(),
                  .weight = weight.data(),
                  .output = output.data()});
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const float got = kind == Kind::kForward         ? Widened(output[i])
                        : kind == Kind::kInputGradient ? Widened(input[i])
                                                       : weight[i];
      ASSERT_NEAR(got, sums[i], (kRounding + 1e-5) * std::abs(sums[i]) + 1e-6) << i;
      ASSERT_EQ(got, Widened(Narrowed<Bf16>(got))) << "what it gives is rounded";
    }
  }
}

}  // namespace
}  // namespace murmurate
