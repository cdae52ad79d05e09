// CudaDevice keeps what device.h promises: over a stand-in for CUDA's runtime (fake_cuda_runtime.h), for
// cuBLASLt and for cuDNN. What a real GPU answers only a GPU can show.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <vector>

#include "server/compute/device/calls/layers.h"
#include "server/compute/device/cuda/device_cuda.h"
#include "server/device/device_trial.h"
#include "tests/device/fake_cublaslt.h"
#include "tests/device/fake_cuda_runtime.h"
#include "tests/device/kept_choices.h"

namespace murmurate {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CudaDeviceTest : public testing::Test {
 protected:
  CudaDeviceTest() : runtime(FakeCudaRuntime::Get()) {
    runtime = {};
    setenv("MURMURATE_CUDA_PATH", MURMURATE_FAKE_CUBLASLT ":" MURMURATE_FAKE_CUDNN, 1);
  }
  static std::string WhyNotOpened(int index = 0) {
    return CudaDevice::Open({.index = index}).status().message();
  }
  static std::unique_ptr<CudaDevice> Open(int index = 0) {
    auto device = CudaDevice::Open({.index = index});
    EXPECT_TRUE(device.ok()) << device.status().message();
    return *std::move(device);
  }
  void FailAt(const char* function, cudaError_t code = cudaErrorIllegalAddress) {
    runtime.fails = function;
    runtime.code = code;
  }

  FakeCudaRuntime& runtime;
};

TEST_F(CudaDeviceTest, WithoutADriverWithAnOldOneOrWithoutAGpuSaysWhich) {
  runtime.driver = 0;
  EXPECT_THAT(WhyNotOpened(), HasSubstr("no NVIDIA driver is running here ("));
  runtime.driver = 11080;
  EXPECT_THAT(WhyNotOpened(), AllOf(HasSubstr("has CUDA 11.8"), HasSubstr("was built with CUDA ")));
  runtime.driver = CUDART_VERSION;
  runtime.devices = 0;
  setenv("CUDA_VISIBLE_DEVICES", "7", 1);
  EXPECT_THAT(WhyNotOpened(), AllOf(HasSubstr("has no GPU for this process"),
                                    HasSubstr("(CUDA_VISIBLE_DEVICES is \"7\")")));
  unsetenv("CUDA_VISIBLE_DEVICES");
}

TEST_F(CudaDeviceTest, OfAnIndexThatIsNotThereOrOfAnOldKindSaysSo) {
  runtime.devices = 2;
  EXPECT_EQ(WhyNotOpened(2), "there is no cuda:2: this machine has 2 GPUs, from cuda:0 on");
  runtime.devices = 1;
  EXPECT_EQ(WhyNotOpened(1), "there is no cuda:1: this machine has 1 GPU, cuda:0");
  runtime.major = 7;
  EXPECT_EQ(
      WhyNotOpened(0),
      "cuda:0 is a Fake GPU of compute capability 7.0; murmurate needs 7.5 or higher (Turing, "
      "2018)");
  runtime.minor = 5;
  EXPECT_EQ(WhyNotOpened(0), "");
}

TEST_F(CudaDeviceTest, LoadsEachKernelAsItIsOpened) {
  FailAt("cudaFuncGetAttributes");
  EXPECT_THAT(WhyNotOpened(), HasSubstr("while loading the kernel "));
  EXPECT_EQ(runtime.objects, 0) << "its streams were left";
}

TEST_F(CudaDeviceTest, ComputesWhatTheTrialsExpectAndLeavesNothing) {
  auto device = Open(0);
  EXPECT_EQ(TryKernel(device.get()).message(), "");
  EXPECT_EQ(TryProduct(device.get()).message(), "");
  EXPECT_EQ(TryConvolution(device.get()).message(), "");
  const DeviceDescription description = device->description();
  EXPECT_EQ(description.name, "Fake GPU");
  EXPECT_EQ(description.multiprocessors, 12);
  EXPECT_EQ(description.arithmetic.precision, DevicePrecision::kFp32);
  EXPECT_EQ(description.free_bytes, 1000u);
  EXPECT_THAT(description.libraries,
              AllOf(HasSubstr("cuBLASLt 13.1.0"), HasSubstr("cuDNN 9.19.0")));
  device.reset();
  EXPECT_EQ(runtime.allocated, 0);
  EXPECT_EQ(runtime.objects, 0);
}

TEST_F(CudaDeviceTest, KeepsPicturesAsBf16WhereThatIsThePrecisionAndTheGpuHasIt) {
  const auto pictures = [](DevicePrecision precision) {
    return (*CudaDevice::Open({.precision = precision}))->description().arithmetic.pictures;
  };
  EXPECT_EQ(pictures(DevicePrecision::kBf16), ElementType::kBf16);
  EXPECT_EQ(pictures(DevicePrecision::kTf32), ElementType::kFloat32);
  runtime.major = 8;
  EXPECT_EQ(pictures(DevicePrecision::kBf16), ElementType::kBf16);
  runtime.major = 7;
  runtime.minor = 5;
  EXPECT_EQ(pictures(DevicePrecision::kBf16), ElementType::kFloat32);
}

TEST_F(CudaDeviceTest, KeepsWhichAlgorithmsWereTheFastestUnderItsNamePrecisionAndVersions) {
  void* const cublaslt =
      dlopen((MURMURATE_FAKE_CUBLASLT "/" + CublasLtName().file).c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(cublaslt, nullptr);
  auto* const state = reinterpret_cast<FakeCublasLt* (*)()>(dlsym(cublaslt, "FakeCublasLtState"))();
  state->algorithms = 2;
  const auto choices = std::make_shared<KeptChoices>();
  const auto device = *CudaDevice::Open({.precision = DevicePrecision::kTf32, .choices = choices});
  EXPECT_EQ(TryProduct(device.get()).message(), "");
  state->algorithms = 1;
  ASSERT_EQ(choices->kept.size(), 1u);
  EXPECT_THAT(choices->kept.begin()->first,
              AllOf(HasSubstr("cuBLASLt 13.1.0, product 48 32 80 "),
                    testing::EndsWith(", Fake GPU, tf32, deterministic")));
  EXPECT_THAT(choices->kept.begin()->second, testing::StartsWith("0:")) << "both take as long";
}

TEST_F(CudaDeviceTest, RunsWhatAGraphKeepsWhenItIsReplayedAndNotBefore) {
  const auto device = Open();
  auto* const memory = static_cast<float*>(device->Allocate(8));
  memory[0] = memory[1] = 3;
  device->BeginGraph(Stream::kMain);
  device->ClearMemory(Stream::kMain, memory, 4);
  device->ClearMemory(Stream::kCopy, memory + 1, 4);  // another stream is no part of it
  const DeviceGraph graph = device->EndGraph(Stream::kMain);
  EXPECT_EQ(memory[0], 3);
  EXPECT_EQ(memory[1], 0);
  device->Replay(Stream::kMain, graph);
  EXPECT_EQ(memory[0], 0);
  device->DropGraph(graph);
  device->Free(memory);
  EXPECT_EQ(device->error(), "");
}

TEST_F(CudaDeviceTest, GivesBackEventsAndGraphsAndUsesTheirNumbersAgain) {
  const auto device = Open();
  const int objects = runtime.objects;
  std::vector<std::pair<DeviceEvent, DeviceGraph>> made;
  for (int time = 0; time < 3; ++time) {
    const DeviceEvent kept = device->MakeEvent(), event = device->MakeEvent();
    device->BeginGraph(Stream::kMain);
    const DeviceGraph graph = device->EndGraph(Stream::kMain);
    EXPECT_EQ(runtime.objects, objects + 3);
    made.emplace_back(event, graph);
    device->DropEvent(event);
    device->DropGraph(graph);
    device->Record(Stream::kMain, kept);
    device->DropEvent(kept);
    device->DropEvent(-1);
    device->DropGraph(-1);
    EXPECT_EQ(runtime.objects, objects);
  }
  EXPECT_EQ(made[0], made[2]);
  EXPECT_EQ(device->error(), "");
}

TEST_F(CudaDeviceTest, SaysWhatFailedFirstWhatWasBeingDoneAndTheLastKernel) {
  const auto device = Open();
  const DeviceEvent event = device->MakeEvent();
  device->Launch(Stream::kMain, Grid{}, BiasActivationCall{});
  FailAt("cudaEventSynchronize");
  device->Await(event);
  const std::string error =
      "the GPU failed while waiting for an event: an illegal memory access was encountered "
      "(cudaErrorIllegalAddress); the last kernel that was enqueued is BiasActivation";
  EXPECT_EQ(device->error(), error);
  FailAt("cudaMemsetAsync");
  device->ClearMemory(Stream::kMain, nullptr, 4);
  EXPECT_EQ(device->error(), error) << "a later failure says nothing new";
}

TEST_F(CudaDeviceTest, DoesNothingMoreAfterItHasFailed) {
  const auto device = Open();
  const DeviceEvent event = device->MakeEvent();
  std::byte* const pinned = device->AllocatePinned(100);
  FailAt("cudaEventRecord");
  device->Record(Stream::kMain, event);
  runtime.launched.clear();
  device->Launch(Stream::kMain, Grid{}, BiasActivationCall{});
  EXPECT_THAT(runtime.launched, IsEmpty());
  EXPECT_EQ(device->Allocate(8), nullptr);
  EXPECT_TRUE(device->Reached(event));
  device->Await(event);
  device->BeginGraph(Stream::kMain);
  EXPECT_EQ(device->EndGraph(Stream::kMain), -1);
  device->FreePinned(pinned);
  EXPECT_EQ(runtime.allocated, 0);
}

TEST_F(CudaDeviceTest, GivesBlocksTheMemoryThatTheirGridSays) {
  const auto device = Open();
  device->Launch(Stream::kMain, Grid{.block_bytes = 4096}, BiasActivationCall{});
  EXPECT_EQ(runtime.block_bytes, 4096u);
  device->Launch(Stream::kMain, Grid{}, BiasActivationCall{});
  EXPECT_EQ(runtime.block_bytes, 0u);
}

TEST_F(CudaDeviceTest, AGraphThatFailsIsNone) {
  const auto device = Open();
  device->BeginGraph(Stream::kMain);
  device->Launch(Stream::kMain, Grid{}, BiasActivationCall{});
  FailAt("cudaStreamEndCapture", cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(device->EndGraph(Stream::kMain), -1);
  EXPECT_THAT(device->error(), HasSubstr("while ending a graph"));
}

TEST_F(CudaDeviceTest, HasNoMemoryLeftWithoutHavingFailed) {
  const auto device = Open();
  FailAt("cudaMalloc", cudaErrorMemoryAllocation);
  EXPECT_EQ(device->Allocate(std::size_t{1} << 40), nullptr);
  EXPECT_EQ(device->error(), "");
  FailAt("cudaHostAlloc", cudaErrorMemoryAllocation);
  EXPECT_EQ(device->AllocatePinned(4096), nullptr);
  EXPECT_EQ(device->error(), "");
}

TEST_F(CudaDeviceTest, AProductThatIsNewInAGraphIsAnErrorThatNamesIt) {
  const auto device = Open();
  std::vector<float> numbers(16);
  float* const memory = numbers.data();
  device->BeginGraph(Stream::kMain);
  device->Multiply(Stream::kMain, {.rows = 2,
                                   .columns = 2,
                                   .depth = 2,
                                   .a = memory,
                                   .a_stride = 2,
                                   .b = memory,
                                   .b_stride = 2,
                                   .c = memory + 8,
                                   .c_stride = 2});
  EXPECT_EQ(device->EndGraph(Stream::kMain), -1);
  EXPECT_THAT(device->error(), HasSubstr("a graph has a product of 2 x 2 by 2 x 2"));
}

TEST_F(CudaDeviceTest, MakesEachThreadsCallsGoToItsGpu) {
  runtime.devices = 2;
  const auto first = Open(0), second = Open(1);
  first->ClearMemory(Stream::kMain, nullptr, 0);
  const DeviceEvent event = first->MakeEvent();
  EXPECT_EQ(runtime.current, 0);
  (void)second->MakeEvent();
  EXPECT_EQ(runtime.current, 1);
  first->Await(event);
  EXPECT_EQ(runtime.current, 0);
}

}  // namespace
}  // namespace murmurate
