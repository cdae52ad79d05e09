// A daemon whose model is trained on a device, in this process: the device and its trainer are the
// test's, everything around them is what `murmurate serve` runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <thread>

#include "murmurate/client.h"
#include "server/config/model_settings.h"
#include "server/daemon/daemon.h"
#include "server/ingest/ingest_settings.h"
#include "shared/core/clock.h"
#include "shared/model/safetensors.h"
#include "tests/device/still_device.h"
#include "tests/learn/failing_trainer.h"
#include "tests/operate/temporary_folder.h"

namespace murmurate {
namespace {

using ::testing::HasSubstr;

constexpr int kForEver = 1 << 30;

/// The same however busy this machine is.
ProcessorMeasures OfALaptop() {
  return {.act_s = [](const ModelSpec&) { return 20e-6; }, .flops_a_second = [] { return 1e11; }};
}

class DeviceRun : public testing::Test {
 protected:
  DeviceRun() { setenv("XDG_RUNTIME_DIR", folder_.path().c_str(), 1); }

  Config ConfigOf(const std::string& model) const {
    auto config = Config::Load(
        {"c.toml", "c",
         "[run]\ndir = \"" + folder_.path() + "\"\nname = \"run\"\n[server]\nlisten = [\"ipc\"]\n" +
             "[algorithm]\ntrajectory_length = 8\nbatch_steps = 32\nminibatch = 32\nepochs = 1\n" +
             "[model]\n" + model},
        {});
    EXPECT_TRUE(config.ok()) << config.status();
    return *std::move(config);
  }

  /// Devices of the test; a trainer on one fails in the batch after `batches`.
  PlaceMakers Places(int batches) {
    return {
        .open = [this](
                    const std::string& name, DevicePrecision, bool,
                    std::shared_ptr<AlgorithmChoices> choices) -> Result<std::unique_ptr<Device>> {
          opened_.push_back(name);
          choices_.push_back(std::move(choices));
          return std::unique_ptr<Device>(std::make_unique<StillDevice>(&counts_));
        },
        .make_trainer = [batches](const ModelSpec& spec, const AlgorithmSettings& settings,
                                  std::shared_ptr<Device>, std::unique_ptr<ParameterStore> store)
            -> Result<std::unique_ptr<BatchTrainer>> {
          return std::unique_ptr<BatchTrainer>(
              std::make_unique<FailingTrainer>(spec, settings, batches, std::move(store)));
        },
        .measures = OfALaptop()};
  }

  Result<std::unique_ptr<Daemon>> Start(const Config& config, PlaceMakers places,
                                        std::optional<ResumePlan> plan = {}) {
    DaemonOptions options;
    options.when_taken = RunDirectory::WhenTaken::kFresh;
    options.display = Display::Mode::kQuiet;
    options.console = LogLevel::kError;
    options.places = std::move(places);
    options.plan = std::move(plan);
    return Daemon::Start(config, std::move(options), &signals_);
  }

  std::string Log() const {
    auto text = ReadFile(folder_.path() + "/run/log.txt", 1 << 20);
    return text.ok() ? *text : "";
  }

  /// Plays until `done`, 20 s at the most.
  static bool Play(Agent* agent, const std::function<bool()>& done) {
    const std::int64_t deadline_ns = MonotonicNs() + 20 * kNanosecondsPerSecond;
    const float observation[] = {0.1f, 0.2f, 0.3f};
    for (int step = 0; !done(); ++step) {
      if (MonotonicNs() > deadline_ns) return false;
      (void)agent->Act(observation);
      agent->Reward(1.0);
      if (step % 10 == 9) agent->End(kTerminated);
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    return true;
  }

  static Agent NewAgent(Client* client) {
    return client->NewAgent({.observation = Box({3}), .action = Discrete(2)});
  }

  TemporaryFolder folder_;
  StillDevice::Counts counts_;
  std::vector<std::string> opened_;
  std::vector<std::shared_ptr<AlgorithmChoices>> choices_;  ///< that each was given
  Signals signals_;
};

TEST_F(DeviceRun, ADeviceThatFailsEndsTheRunAndTheRunGoesOn) {
  std::uint64_t version = 0;
  {
    auto daemon = Start(ConfigOf("device = \"cuda:1\"\n"), Places(3));
    ASSERT_TRUE(daemon.ok()) << daemon.status();
    EXPECT_EQ(opened_, std::vector<std::string>{"cuda:1"}) << "before any actor came";
    auto client = Client::Connect((*daemon)->addresses().front(), {.quiet = true});
    ASSERT_TRUE(client.ok()) << client.status();
    Agent agent = NewAgent(client->get());
    ASSERT_TRUE(Play(&agent, [this] { return signals_.requested().has_value(); }));
    EXPECT_GT(counts_.blocks, 0) << "batches lie in the device's memory";
    EXPECT_EQ(*signals_.requested(), RunEnd::kAskedToResume);
    EXPECT_EQ(signals_.failure().code(), StatusCode::kResource);
    EXPECT_EQ(signals_.failure().message(),
              "model default: cuda:0: an illegal address was used; go on with `murmurate resume " +
                  folder_.path() + "/run`, on another device with --set model.device=\"cpu\"");
    int played = 0;
    EXPECT_TRUE(Play(&agent, [&played] { return ++played > 200; })) << "actors play on";
    const auto outcome = (*daemon)->Stop(
        "the learner stops", [] { return false; }, true);
    EXPECT_EQ(outcome.checkpoint, folder_.path() + "/run/checkpoints/latest");
    EXPECT_GT(outcome.steps.learned, 64u) << "of the three batches before it";
    EXPECT_LE(outcome.steps.learned, 96u) << "and no more";
    played = 0;
    EXPECT_TRUE(Play(&agent, [&played] { return ++played > 200; })) << "and when it has gone";
    EXPECT_THAT(Log(), HasSubstr("is trained on cuda:1, fp32 (still)"));
    EXPECT_THAT(Log(), HasSubstr("an illegal address was used; learning ends with the last batch"));
  }
  EXPECT_EQ(counts_.devices, 0);
  EXPECT_EQ(counts_.blocks, 0);
  EXPECT_FALSE(counts_.freed_late);

  const Config config = ConfigOf("device = \"cpu\"\n");
  auto plan = ReadResumePlan(folder_.path() + "/run", config, {});
  ASSERT_TRUE(plan.ok()) << plan.status();
  version = plan->models.front().found.checkpoint.weights.version;
  EXPECT_EQ(version, 4u) << "the first and three that were learned";
  Signals signals;
  auto again = Start(config, Places(0), *std::move(plan));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(opened_.size(), 1u);
  EXPECT_THAT(Log(), HasSubstr("version 4"));
}

TEST_F(DeviceRun, ADeviceThatCannotBeOpenedEndsTheRunBeforeItHasAFolder) {
  PlaceMakers places = Places(kForEver);
  places.open = [](const std::string& name, DevicePrecision, bool,
                   std::shared_ptr<AlgorithmChoices>) {
    return Result<std::unique_ptr<Device>>(ResourceError(name + ": there is no driver"));
  };
  const auto daemon = Start(ConfigOf("device = \"cuda\"\n"), places);
  ASSERT_FALSE(daemon.ok());
  EXPECT_EQ(daemon.status().code(), StatusCode::kResource);
  EXPECT_EQ(daemon.status().message(), "cuda: there is no driver");
  EXPECT_FALSE(std::filesystem::exists(folder_.path() + "/run"));
}

TEST_F(DeviceRun, KeepsTheAlgorithmsOfItsDeviceInItsFolderAndWithoutTuningNone) {
  setenv("XDG_CACHE_HOME", (folder_.path() + "/cache").c_str(), 1);
  const Config config = ConfigOf("device = \"cuda\"\n");
  {
    auto daemon = Start(config, Places(kForEver));
    ASSERT_TRUE(daemon.ok()) << daemon.status();
    ASSERT_NE(choices_[0], nullptr);
    choices_[0]->Keep("product", "1:2");
  }
  const std::string users = folder_.path() + "/cache/murmurate/plans.json";
  EXPECT_EQ(*ReadFile(users, 1000), "{\n \"product\": \"1:2\"\n}\n");
  const std::string later = "{\"product\": \"3:4\"}";
  ASSERT_TRUE(WriteFileAtomically(users, std::as_bytes(std::span(later))).ok());
  TrainingPlaces resumed(config, Places(kForEver)), fresh(config, Places(kForEver));
  ASSERT_TRUE(resumed.OpenNamed().ok());
  resumed.KeepAlgorithmsIn(folder_.path() + "/run", {});
  EXPECT_EQ(choices_[1]->Find("product"), "1:2") << "the run goes on by what it began with";
  ASSERT_TRUE(fresh.OpenNamed().ok());
  fresh.KeepAlgorithmsIn(folder_.path(), {});
  EXPECT_EQ(choices_[2]->Find("product"), "3:4");
  TrainingPlaces plain(ConfigOf("device = \"cuda\"\ntune = false\n"), Places(kForEver));
  ASSERT_TRUE(plain.OpenNamed().ok());
  EXPECT_EQ(choices_[3], nullptr);
  unsetenv("XDG_CACHE_HOME");
}

TEST_F(DeviceRun, AModelThatDoesNotFitEndsTheRun) {
  PlaceMakers places = Places(kForEver);
  places.make_trainer = [](const ModelSpec&, const AlgorithmSettings&, std::shared_ptr<Device>,
                           std::unique_ptr<ParameterStore>) {
    return Result<std::unique_ptr<BatchTrainer>>(ResourceError("8 MiB are free, and 9 needed"));
  };
  auto daemon = Start(ConfigOf("device = \"cuda\"\n"), places);
  ASSERT_TRUE(daemon.ok()) << daemon.status();
  auto client = Client::Connect((*daemon)->addresses().front(), {.quiet = true});
  ASSERT_TRUE(client.ok()) << client.status();
  Agent agent = NewAgent(client->get());
  ASSERT_TRUE(Play(&agent, [this] { return signals_.requested().has_value(); }));
  EXPECT_EQ(signals_.failure().message(), "model default: 8 MiB are free, and 9 needed");
}

TEST_F(DeviceRun, AutoOpensNothingForASmallModelAndSaysWhy) {
  auto daemon = Start(ConfigOf("device = \"auto\"\n"), Places(kForEver));
  ASSERT_TRUE(daemon.ok()) << daemon.status();
  auto client = Client::Connect((*daemon)->addresses().front(), {.quiet = true});
  ASSERT_TRUE(client.ok()) << client.status();
  Agent agent = NewAgent(client->get());
  ASSERT_TRUE(Play(&agent, [this] { return Log().find("made for") != std::string::npos; }));
  EXPECT_TRUE(opened_.empty());
  EXPECT_THAT(Log(), HasSubstr("device = \"auto\" chooses cpu: learning from a batch of 32 steps"));
}

TEST_F(DeviceRun, EachSectionsDeviceIsOpenedAtTheStartAndEachModelHasOneOfItsOwn) {
  const Config config = ConfigOf(
      "device = \"cuda\"\n[model.npc]\ndevice = \"cuda:1\"\nprecision = \"bf16\"\n"
      "[model.sky]\nframe_stack = 2\n");
  TrainingPlaces places(config, Places(kForEver));
  ASSERT_TRUE(places.OpenNamed().ok());
  EXPECT_EQ(opened_, (std::vector<std::string>{"cuda", "cuda:1"}));
  std::vector<TrainingPlace> made;
  for (const char* model : {"npc", "sky", "other"}) {
    const auto settings = ModelFor(config, model, {Box({3}), Discrete(2)});
    auto place = places.Make(model, *settings, [] { return nullptr; });
    ASSERT_TRUE(place.ok()) << place.status();
    made.push_back(*std::move(place));
  }
  EXPECT_EQ(opened_, (std::vector<std::string>{"cuda", "cuda:1", "cuda"}));
  EXPECT_EQ(
      made[0].sentence,
      "model npc: is trained on cuda:1, bf16 (still), which has no bf16: pictures and factors "
      "of products have 32 bits");
  EXPECT_EQ(made[2].sentence, "model other: is trained on cuda, fp32 (still)");
  EXPECT_EQ(counts_.devices, 3);
  made.clear();
  EXPECT_EQ(counts_.devices, 0);
}

class AutoPlace : public testing::Test {
 protected:
  /// Large layers, many epochs.
  AutoPlace()
      : config_(*Config::Load({"c.toml", "c",
                               "[model]\ndevice = \"auto\"\nlayers = [1024, 1024]\n"
                               "[algorithm]\nbatch_steps = 4096\nminibatch = 4096\n"},
                              {})),
        settings_(*ModelFor(config_, "default", {Box({4}), Discrete(2)})) {}

  TrainingPlace Make(PlaceMakers makers) {
    makers.measures = OfALaptop();
    TrainingPlaces places(config_, std::move(makers));
    EXPECT_TRUE(places.OpenNamed().ok());
    auto place = places.Make("default", settings_, [] { return nullptr; });
    EXPECT_TRUE(place.ok());
    return *std::move(place);
  }

  Config config_;
  ModelSettings settings_;
  StillDevice::Counts counts_;
};

TEST_F(AutoPlace, WhereAGpuWouldPayAndIsMissingTheProcessorTrainsAndSaysWhatIsMissing) {
  const TrainingPlace place = Make({.open = [](const std::string& name, DevicePrecision, bool,
                                               std::shared_ptr<AlgorithmChoices>) {
    return Result<std::unique_ptr<Device>>(ResourceError(name + ": there is no driver"));
  }});
  EXPECT_NE(dynamic_cast<HostTrainer*>(place.trainer.get()), nullptr);
  EXPECT_EQ(place.memory, nullptr);
  EXPECT_EQ(place.sentence,
            "model default: device = \"auto\" chooses cpu, though a GPU would pay: cuda:0: there "
            "is no driver");
}

TEST_F(AutoPlace, WhereAGpuPaysItTrains) {
  const TrainingPlace place = Make(
      {.open =
           [this](const std::string&, DevicePrecision, bool, std::shared_ptr<AlgorithmChoices>) {
             return Result<std::unique_ptr<Device>>(
                 std::unique_ptr<Device>(std::make_unique<StillDevice>(&counts_)));
           },
       .make_trainer =
           [](const ModelSpec& spec, const AlgorithmSettings& settings, std::shared_ptr<Device>,
              std::unique_ptr<ParameterStore>) {
             return Result<std::unique_ptr<BatchTrainer>>(std::unique_ptr<BatchTrainer>(
                 std::make_unique<FailingTrainer>(spec, settings, kForEver)));
           }});
  EXPECT_NE(dynamic_cast<FailingTrainer*>(place.trainer.get()), nullptr);
  ASSERT_NE(place.memory, nullptr);
  EXPECT_THAT(place.sentence, HasSubstr("device = \"auto\" chooses cuda:0: learning from a batch"));
  EXPECT_EQ(counts_.devices, 1);
}

}  // namespace
}  // namespace murmurate
