// CudaConvolutions asks cuDNN for the convolutions that ConvolutionCall means, with weights turned for
// it: against a stand-in for the library (fake_cudnn.cc), and this processor's own convolutions.
#include "server/compute/device/cuda/cuda_convolutions.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "server/compute/device/cuda/cudnn_plans.h"
#include "server/compute/device/kernel_language.h"
#include "tests/device/fake_events.h"
#include "tests/device/kept_choices.h"

// The functions of the runtime that convolutions need, over host memory.
static std::set<void*> allocated;
static std::size_t most_bytes = 0;
static bool device_is_full = false;
cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  if (device_is_full) return cudaErrorMemoryAllocation;
  *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  allocated.insert(*memory);
  most_bytes = bytes;
  return cudaSuccess;
}
cudaError_t cudaFree(void* memory) {
  allocated.erase(memory);
  std::free(memory);
  return cudaSuccess;
}
cudaError_t cudaGetLastError() { return cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }

template <typename T>
static T* OfCudnn(const char* name) {
  void* const handle = dlopen((MURMURATE_FAKE_CUDNN "/" + murmurate::CudnnName().file).c_str(),
                              RTLD_NOW | RTLD_LOCAL);
  return static_cast<T*>(dlsym(handle, name));
}
static float FakeClock() { return *OfCudnn<float>("fake_cudnn_clock"); }

namespace murmurate {
namespace {

using ::testing::HasSubstr;
using Floats = std::vector<float>;
using Kind = ConvolutionCall::Kind;

/// Pictures of 7 x 5 with 3 channels, 4 filters of 3 x 3, stride 2, padding 1: 4 x 3 places.
struct Small {
  explicit Small(int given_images = 2) : images(given_images) {
    const auto count = static_cast<std::size_t>(images);
    input.resize(count * 7 * 5 * 3);
    weight.resize(std::size_t{3} * 3 * 3 * 4);
    output.resize(count * 4 * 3 * 4);
    float value = 0;
    for (Floats* block : {&input, &weight, &output})
      for (float& number : *block) number = (value = value > 2 ? value - 3.7f : value + 0.9f);
  }
  ConvolutionCall Call(Kind kind) {
    return {.kind = kind,
            .images = images,
            .height = 7,
            .width = 5,
            .channels = 3,
            .filters = 4,
            .kernel = 3,
            .stride = 2,
            .padding = 1,
            .input = input.data(),
            .weight = weight.data(),
            .output = output.data()};
  }
  /// As ConvolutionCall says it.
  Floats Expected(Kind kind) const {
    Floats sums(kind == Kind::kForward         ? output.size()
                : kind == Kind::kInputGradient ? input.size()
                                               : weight.size());
    for (int n = 0; n < images; ++n)
      for (int at = 0; at < 4 * 3 * 3 * 3; ++at) {
        const int kx = at % 3, ky = at / 3 % 3, ox = at / 9 % 3, oy = at / 27;
        const int ix = 2 * ox + kx - 1, iy = 2 * oy + ky - 1;
        if (ix < 0 || iy < 0 || ix >= 5 || iy >= 7) continue;
        for (int c = 0; c < 3; ++c)
          for (int f = 0; f < 4; ++f) {
            const auto i = static_cast<std::size_t>(((n * 7 + iy) * 5 + ix) * 3 + c);
            const auto w = static_cast<std::size_t>(((ky * 3 + kx) * 3 + c) * 4 + f);
            const auto o = static_cast<std::size_t>(((n * 4 + oy) * 3 + ox) * 4 + f);
            if (kind == Kind::kForward) sums[o] += input[i] * weight[w];
            if (kind == Kind::kInputGradient) sums[i] += output[o] * weight[w];
            if (kind == Kind::kWeightGradient) sums[w] += output[o] * input[i];
          }
      }
    return sums;
  }

  int images;
  Floats input, weight, output;
};

void Transpose(const TransposeCall& call) {
  for (int row = 0; row < call.rows; ++row)
    for (int column = 0; column < call.columns; ++column)
      WriteNumber(call.to, call.to_type, column * call.rows + row,
                  ReadNumber(call.from, call.from_type, row * call.columns + column));
}

class CudaConvolutionsTest : public testing::Test {
 protected:
  CudaConvolutionsTest() {
    setenv("MURMURATE_CUDA_PATH", MURMURATE_FAKE_CUDNN, 1);
    device_is_full = false;
    most_bytes = 0;
    auto opened = CudaConvolutions::Open(DevicePrecision::kFp32, true);
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    if (opened.ok()) convolutions = *std::move(opened);
    plans_before = plans();
  }
  void SetUp() override { ASSERT_NE(convolutions, nullptr); }
  static int plans() { return *OfCudnn<int>("fake_cudnn_plans"); }

  std::unique_ptr<CudaConvolutions> convolutions;
  int plans_before = 0;
  const CudaQueue main{.number = 0}, copy{.number = 1}, recording{.number = 0, .recording = true};
};

TEST_F(CudaConvolutionsTest, AndBothGradientsAreWhatTheCallMeans) {
  for (const Kind kind : {Kind::kForward, Kind::kInputGradient, Kind::kWeightGradient}) {
    Small small;
    const Floats expected = small.Expected(kind);
    ASSERT_TRUE(convolutions->Convolve(main, small.Call(kind), Transpose).ok());
    const Floats& got = kind == Kind::kForward         ? small.output
                        : kind == Kind::kInputGradient ? small.input
                                                       : small.weight;
    for (std::size_t i = 0; i < expected.size(); ++i)
      ASSERT_NEAR(got[i], expected[i], 1e-4) << "kind " << static_cast<int>(kind) << ", " << i;
  }
}

TEST_F(CudaConvolutionsTest, OfBf16AreOfRoundedNumbers) {
  const auto halves = [](const Floats& floats) {
    std::vector<Bf16> rounded(floats.size());
    std::ranges::transform(floats, rounded.begin(), Narrowed<Bf16>);
    return rounded;
  };
  const auto wide = [](const std::vector<Bf16>& numbers) {
    Floats floats(numbers.size());
    std::ranges::transform(numbers, floats.begin(), [](Bf16 number) { return Widened(number); });
    return floats;
  };
  for (const Kind kind : {Kind::kForward, Kind::kInputGradient, Kind::kWeightGradient}) {
    Small small;
    std::vector<Bf16> input = halves(small.input), output = halves(small.output);
    ConvolutionCall call = small.Call(kind);
    call.pictures = ElementType::kBf16;
    call.input = input.data();
    call.output = output.data();
    Small rounded = small;
    rounded.input = wide(input);
    rounded.weight = wide(halves(small.weight));
    rounded.output = wide(output);
    const Floats expected = rounded.Expected(kind);
    ASSERT_TRUE(convolutions->Convolve(main, call, Transpose).ok());
    const Floats got = kind == Kind::kForward         ? wide(output)
                       : kind == Kind::kInputGradient ? wide(input)
                                                      : small.weight;
    for (std::size_t i = 0; i < expected.size(); ++i)
      ASSERT_NEAR(got[i], expected[i], std::abs(expected[i]) / 256 + 1e-4)
          << "kind " << static_cast<int>(kind) << ", " << i;
    EXPECT_EQ(most_bytes, 256u + 640u) << "216 bytes of weights, and what the plan needs";
  }
  EXPECT_EQ(plans() - plans_before, 3);
  Small small;
  ASSERT_TRUE(convolutions->Convolve(main, small.Call(Kind::kForward), Transpose).ok());
  EXPECT_EQ(plans() - plans_before, 4) << "pictures of 32 bits have plans of their own";
}

TEST_F(CudaConvolutionsTest, AreChosenOnceAndKeepOneWorkspaceForEachStream) {
  Small small;
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(convolutions->Convolve(main, small.Call(Kind::kForward), Transpose).ok());
  EXPECT_EQ(plans() - plans_before, 1);
  EXPECT_EQ(allocated.size(), 1u);
  EXPECT_EQ(most_bytes, 512u + 640u) << "432 bytes of weights, and what the plan needs";
  ASSERT_TRUE(convolutions->Convolve(copy, small.Call(Kind::kForward), Transpose).ok());
  EXPECT_EQ(plans() - plans_before, 1);
  EXPECT_EQ(allocated.size(), 2u);
  convolutions.reset();
  EXPECT_TRUE(allocated.empty());
}

TEST_F(CudaConvolutionsTest, InAGraphWereRunBeforeAndItsWorkspaceStays) {
  Small small, large;
  const Status fresh = convolutions->Convolve(recording, small.Call(Kind::kForward), Transpose);
  EXPECT_THAT(fresh.message(), HasSubstr("was not run before on its stream"));
  ASSERT_TRUE(convolutions->Convolve(copy, small.Call(Kind::kForward), Transpose).ok());
  EXPECT_FALSE(convolutions->Convolve(recording, small.Call(Kind::kForward), Transpose).ok());
  ASSERT_TRUE(convolutions->Convolve(main, small.Call(Kind::kForward), Transpose).ok());
  ASSERT_TRUE(convolutions->Convolve(recording, small.Call(Kind::kForward), Transpose).ok());
  const std::set<void*> before = allocated;
  ConvolutionCall more = large.Call(Kind::kForward);
  Floats weight(small.weight.size() * 16), output(large.output.size() * 16);
  more.filters = 64;
  more.weight = weight.data();
  more.output = output.data();
  ASSERT_TRUE(convolutions->Convolve(main, more, Transpose).ok());
  EXPECT_EQ(allocated.size(), before.size() + 1) << "a graph may use the smaller one";
  for (void* memory : before) EXPECT_TRUE(allocated.contains(memory));
}

TEST_F(CudaConvolutionsTest, AreByTheFastestEngineWhichIsKept) {
  Small small;
  int& engines = *OfCudnn<int>("fake_cudnn_engines");
  int& last = *OfCudnn<int>("fake_cudnn_last");
  float* const milliseconds = OfCudnn<float>("fake_cudnn_milliseconds");
  engines = 4;
  milliseconds[3] = 0.25f;
  const auto choices = std::make_shared<KeptChoices>();
  const auto tuned = [&] {
    return *CudaConvolutions::Open(DevicePrecision::kFp32, true, {choices, "GPU, fp32"});
  };
  const Floats expected = small.Expected(Kind::kForward);
  convolutions = tuned();
  ASSERT_TRUE(convolutions->Convolve(main, small.Call(Kind::kForward), Transpose).ok());
  EXPECT_EQ(last, 3);
  for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(small.output[i], expected[i], 1e-4);
  ASSERT_EQ(choices->kept.size(), 1u);
  EXPECT_THAT(choices->kept.begin()->first,
              HasSubstr("cuDNN 9.19.0, convolution 0 2 7 5 3 4 3 2 1 0, GPU, fp32"));
  EXPECT_EQ(choices->kept.begin()->second, "3:10");
  EXPECT_EQ(allocated.size(), 1u) << "memory of what was measured is given back";
  EXPECT_EQ(fake_events, 0);
  const float clock = FakeClock();
  milliseconds[0] = 0.1f;
  convolutions = tuned();  // as another process
  ASSERT_TRUE(convolutions->Convolve(main, small.Call(Kind::kForward), Transpose).ok());
  EXPECT_EQ(last, 3);
  EXPECT_EQ(FakeClock(), clock + 0.25f) << "it was measured again";
  convolutions = *CudaConvolutions::Open(DevicePrecision::kFp32, true);
  ASSERT_TRUE(convolutions->Convolve(main, small.Call(Kind::kForward), Transpose).ok());
  EXPECT_EQ(last, 0) << "without tuning: what is proposed first";
  engines = 1;
  milliseconds[0] = milliseconds[3] = 1;
}

TEST_F(CudaConvolutionsTest, SayHowMuchMemoryIsMissing) {
  Small small;
  device_is_full = true;
  const Status status = convolutions->Convolve(main, small.Call(Kind::kForward), Transpose);
  EXPECT_EQ(status.code(), StatusCode::kResource);
  EXPECT_THAT(status.message(), HasSubstr("MiB left for convolutions"));
}

}  // namespace
}  // namespace murmurate
