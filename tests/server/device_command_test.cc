// What the commands say of model.device, on a machine that has no GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/server/process.h"

namespace murmurate {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

bool HasDriver() {
  return fs::exists("/proc/driver/nvidia/version") || fs::exists("/dev/nvidiactl") ||
         fs::exists("/dev/dxg");
}

TEST(DeviceCommand, AGpuThatCannotBeOpenedIsOneSentenceAndExitCodeFive) {
  if (HasDriver()) GTEST_SKIP() << "a driver for NVIDIA's GPUs is here";
  const Workplace place;
  for (const char* device : {"cuda", "cuda:1"}) {
    const Ran ran = RunMurmurate(
        place.path(), {"train", "cartpole", "--set", "model.device=" + std::string(device)});
    EXPECT_EQ(ran.code, 5);
    EXPECT_EQ(ran.output, "");
    EXPECT_THAT(ran.errors, AnyOf(HasSubstr("NVIDIA"), HasSubstr("cuda")));
    EXPECT_EQ(std::ranges::count(ran.errors, '\n'), 1) << ran.errors;
  }
  EXPECT_FALSE(place.Has("runs")) << "nothing was begun";
  EXPECT_EQ(place.LeftBehind(), "");
}

TEST(DeviceCommand, AutoTrainsOnTheProcessorAndLogsTheArithmetic) {
  const Workplace place;
  const Ran ran = RunMurmurate(
      place.path(), {"train", "cartpole", "--set", "model.device=auto", "--steps", "4096"});
  EXPECT_EQ(ran.code, 1) << ran.errors << "\nso few steps solve nothing";
  EXPECT_THAT(place.Read("runs/cartpole/log.txt"),
              HasSubstr("model default: device = \"auto\" chooses cpu: learning from a batch of"));
  EXPECT_EQ(ran.errors, "");
  if (HasDriver()) return;
  const Ran moved = RunMurmurate(place.path(), {"resume", "runs/cartpole", "--set",
                                                "model.device=cuda", "--set", "run.steps=8192"});
  EXPECT_EQ(moved.code, 5);
  EXPECT_THAT(moved.errors, AnyOf(HasSubstr("NVIDIA"), HasSubstr("cuda")));
  const Ran back = RunMurmurate(place.path(), {"resume", "runs/cartpole", "--set",
                                               "model.device=cpu", "--set", "run.steps=8192"});
  EXPECT_EQ(back.code, 1) << back.errors;
}

TEST(DeviceCommand, CheckSaysTheMemoryOfAGpuAndOpensNone) {
  const Workplace place;
  const Ran gpu = RunMurmurate(place.path(), {"check", "cartpole", "--set", "model.device=cuda:1",
                                              "--set", "model.precision=tf32"});
  EXPECT_EQ(gpu.code, 0) << gpu.errors;
  EXPECT_THAT(gpu.output,
              HasSubstr("cuda:1, tf32, not opened here; what this model takes of its memory:"));
  for (const char* purpose : {"parameters, gradient and optimizer", "batches and their plans",
                              "a minibatch's activations and gradients",
                              "workspaces of cuBLASLt and cuDNN", "all else", "together"})
    EXPECT_THAT(gpu.output, HasSubstr(purpose));
  const Ran automatic =
      RunMurmurate(place.path(), {"check", "cartpole", "--set", "model.device=auto"});
  EXPECT_THAT(automatic.output, HasSubstr("device = \"auto\" would choose cpu: learning from"));
  const Ran cpu = RunMurmurate(place.path(), {"check", "cartpole"});
  EXPECT_THAT(cpu.output, ::testing::Not(HasSubstr("not opened here")));
}

TEST(DeviceCommand, ARunningModelStaysOnItsDevice) {
  const Workplace place;
  Process serve(place.path(), {"serve"});
  ASSERT_TRUE(serve.Says("Ctrl+C stops it"));
  const Ran set = RunMurmurate(place.path(), {"set", "serve", "model.device=cuda"});
  EXPECT_EQ(set.code, 2);
  EXPECT_THAT(set.errors, HasSubstr("a model stays where its training began; stop the run and go "
                                    "on with `murmurate resume RUN --set model.device=VALUE`"));
  serve.Send(SIGINT);
  EXPECT_EQ(serve.Wait(20), 0);
}

}  // namespace
}  // namespace murmurate
