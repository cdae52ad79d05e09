// The hooks of a config's text, with a run that only notes what they ask of it.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

#include "server/config/config.h"
#include "server/hooks/hook_kinds.h"
#include "server/metrics/model_metrics.h"
#include "shared/core/clock.h"

namespace murmurate {

class HookStage {
 public:
  HookStage() {
    char name[] = "/tmp/murmurate-hooks-XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~HookStage() { std::filesystem::remove_all(folder_); }

  const std::string& folder() const { return folder_; }
  std::string Read(const std::string& name) const {
    std::ifstream file(folder_ + '/' + name);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ + '/' + name) << text;
  }

  Config Load(const std::string& text) const {
    auto config = Config::Load({"c.toml", "c", text, folder_}, {});
    EXPECT_TRUE(config.ok()) << config.status();
    return *std::move(config);
  }

  HookTools Tools() {
    HookTools tools{
        .folder = folder_, .worker = worker, .log = [this](LogLevel, std::string_view l) {
          const std::lock_guard lock(mutex_);
          log_.append(l) += '\n';
        }};
    tools.actions.stop = [this](const std::string& why) { stops.push_back(why); };
    tools.actions.checkpoint = [this](const std::string& model) { checkpoints.push_back(model); };
    tools.actions.restore = [this](const std::string&, double factor) -> Result<HookReturn> {
      restores.push_back(factor);
      if (!restorable) return InvalidArgument("it runs in lock-step");
      return HookReturn{"the checkpoint of step 7", newest_version};
    };
    tools.actions.set = [this](const std::string& assignment) -> Result<std::string> {
      sets.push_back(assignment);
      return assignment;
    };
    tools.actions.evaluate = [](int episodes, const std::function<bool()>&) -> Result<HookScore> {
      return HookScore{12.5, 1.5, static_cast<std::uint64_t>(episodes), 77};
    };
    tools.actions.steps_of = [this](const std::string&) -> Result<std::uint64_t> { return others; };
    return tools;
  }

  /// The hook of a [[hook]] with these lines.
  std::unique_ptr<Hook> Make(const std::string& lines) {
    return std::move(MakeConfigured(lines).hook);
  }
  ConfiguredHook MakeConfigured(const std::string& lines) {
    const Config config = Load("[run]\nenvironment = \"cartpole\"\n[[hook]]\n" + lines);
    auto made = MakeHooks(config.entries(), Tools());
    EXPECT_TRUE(made.ok()) << made.status();
    return std::move(made->front());
  }

  std::string log() const {
    const std::lock_guard lock(mutex_);
    return log_;
  }

  std::vector<std::string> stops, checkpoints, sets;
  std::vector<double> restores;
  bool restorable = true;
  int worker = 0;
  std::uint64_t newest_version = 0;
  std::uint64_t others = 0;

 private:
  std::string folder_;
  mutable std::mutex mutex_;
  std::string log_;
};

/// After a batch at `steps`; `at_s`: seconds on the clock.
inline HookEvent AfterBatch(std::uint64_t steps, double at_s = 0) {
  HookEvent event{.moment = HookMoment::kAfterBatch,
                  .model = "default",
                  .at_ns = static_cast<std::int64_t>(at_s * 1e9) + 1,
                  .steps = steps,
                  .environment_steps = steps,
                  .version = steps};
  event.reading.Set(kEpisodeCount, std::uint64_t{100});
  event.reading.Set(kMeanReturn, 20.5);
  event.reading.Set(kValueLoss, 1.0);
  return event;
}

inline std::string Joined(const std::vector<std::string>& all) {
  std::string text;
  for (const std::string& one : all) text += one + '|';
  return text;
}

}  // namespace murmurate
