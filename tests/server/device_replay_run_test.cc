// A daemon whose model learns from a replay on a device, in this process: it trains, writes a
// checkpoint as it stops, and goes on from it on a device and on the processor.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cmath>

#include "murmurate/client.h"
#include "server/config/model_settings.h"
#include "server/daemon/daemon.h"
#include "server/ingest/ingest_settings.h"
#include "shared/core/clock.h"
#include "shared/model/safetensors.h"
#include "tests/device/host_device.h"
#include "tests/operate/temporary_folder.h"

namespace murmurate {
namespace {

using ::testing::HasSubstr;

struct RunCase {
  const char *name, *kind;
  bool kept = false;  ///< the device keeps the replay's observations
};

class DeviceReplayRun : public testing::TestWithParam<RunCase> {
 protected:
  DeviceReplayRun() { setenv("XDG_RUNTIME_DIR", folder_.path().c_str(), 1); }

  static bool choices() { return GetParam().kind == std::string("dqn"); }
  Config ConfigOf(const std::string& device) const {
    const bool kept = GetParam().kept && device != "cpu";
    auto config = Config::Load(
        {"c.toml", "c",
         "[run]\ndir = \"" + folder_.path() + "\"\nname = \"run\"\n[server]\nlisten = [\"ipc\"]\n" +
             "[algorithm]\nname = \"" + GetParam().kind +
             "\"\ntrajectory_length = 8\nbatch_steps = 32\n[replay]\ncapacity = 1000\n" +
             "minibatch = 16\nsamples_per_insert = 2\nlearning_starts = 64\n" +
             "priority_exponent = 0.6\n" + (kept ? "memory = \"device\"\n" : "") +
             "[model]\nlayers = [16]\ndevice = \"" + device + "\"\n"},
        {});
    EXPECT_TRUE(config.ok()) << config.status();
    return *std::move(config);
  }

  struct Stopped {
    std::uint64_t learned = 0, optimizer_steps = 0;
    std::vector<float> parameters;
  };
  /// Plays 400 steps, stops, and reads the checkpoint.
  Stopped Run(const std::string& device, bool resumes) {
    Signals signals;
    DaemonOptions options;
    options.when_taken = RunDirectory::WhenTaken::kFresh;
    options.display = Display::Mode::kQuiet;
    options.console = LogLevel::kError;
    options.places.open = [this](const std::string&, DevicePrecision, bool,
                                 std::shared_ptr<AlgorithmChoices>) {
      ++opened_;
      return Result<std::unique_ptr<Device>>(std::make_unique<HostDevice>());
    };
    const Config config = ConfigOf(device);
    const std::string run = folder_.path() + "/run";
    if (resumes) {
      auto plan = ReadResumePlan(run, config, {});
      EXPECT_TRUE(plan.ok()) << plan.status();
      options.plan = *std::move(plan);
    }
    auto daemon = Daemon::Start(config, std::move(options), &signals);
    EXPECT_TRUE(daemon.ok()) << daemon.status();
    auto client = Client::Connect(
        (*daemon)->addresses().front(),
        {.pace = Pace::kCredit, .without_policy = WithoutPolicy::kWait, .quiet = true});
    EXPECT_TRUE(client.ok()) << client.status();
    Play(client->get());
    EXPECT_FALSE(signals.requested().has_value()) << signals.failure();
    Stopped stopped;
    stopped.learned = (*daemon)
                          ->Stop(
                              "the test ends", [] { return false; }, true)
                          .steps.learned;
    const auto plan = ReadResumePlan(run, config, {});
    EXPECT_TRUE(plan.ok()) << plan.status();
    const Checkpoint& checkpoint = plan->models.front().found.checkpoint;
    for (const auto& [name, words] : checkpoint.state.words)
      if (name.ends_with("optimizer.steps")) stopped.optimizer_steps = words[0];
    stopped.parameters.assign(checkpoint.weights.parameters.begin(),
                              checkpoint.weights.parameters.end());
    return stopped;
  }

  static void Play(Client* client) {
    const Space space = choices() ? Space(Discrete(2)) : Box({1}, -1, 1);
    Agent agent = client->NewAgent({.observation = Box({3}), .action = space});
    float number = 0;
    for (int step = 0; step < 400; ++step) {
      const float x = std::sin(0.1f * static_cast<float>(step));
      const float observation[] = {x, 1.0f - x, 0.5f * x};
      choices() ? (void)agent.Act(observation)
                : agent.ActContinuous(observation, std::span(&number, 1));
      agent.Reward(double{x});
      if (step % 10 == 9) agent.End(step % 20 == 9 ? kTerminated : kTruncated, observation);
    }
  }

  TemporaryFolder folder_;
  int opened_ = 0;
};

TEST_P(DeviceReplayRun, TrainsStopsAndGoesOnThereAndOnTheProcessor) {
  const Stopped first = Run("cuda:0", false);
  EXPECT_EQ(opened_, 1);
  EXPECT_GT(first.learned, 200u);
  EXPECT_GT(first.optimizer_steps, 10u) << "16 samples of each 8 steps after the first 64";
  const Stopped second = Run("cuda:0", true);
  EXPECT_EQ(opened_, 2);
  EXPECT_GT(second.learned, first.learned);
  EXPECT_GT(second.optimizer_steps, first.optimizer_steps);
  const Stopped third = Run("cpu", true);
  EXPECT_EQ(opened_, 2);
  EXPECT_GT(third.optimizer_steps, second.optimizer_steps);
  EXPECT_NE(third.parameters, second.parameters);
  for (const float parameter : third.parameters) ASSERT_TRUE(std::isfinite(parameter));
  const auto log = ReadFile(folder_.path() + "/run/log.txt", 1 << 20);
  ASSERT_TRUE(log.ok()) << log.status();
  EXPECT_THAT(*log, HasSubstr("is trained on cuda:0, fp32"));
}

INSTANTIATE_TEST_SUITE_P(, DeviceReplayRun,
                         testing::Values(RunCase{"dqn", "dqn"}, RunCase{"sac", "sac"},
                                         RunCase{"dqnOfKeptRows", "dqn", true}),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace murmurate
