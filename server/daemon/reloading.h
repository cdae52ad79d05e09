// Reloading: what SIGHUP does to a running learner: the settings of a config that was read again
// take effect where they may change while it runs; the others are named, and stay as they are.
//
// They may change: numbers of [settings] and the rates that `murmurate set` changes, the rules to
// stop, run.max_disk, log.level. Only differences between the config as it was read last and as it
// is read now count: what `murmurate set` changed stays where the file still says what it said.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "murmurate/log.h"
#include "murmurate/status.h"
#include "server/config/config.h"

namespace murmurate {

/// What a reload acts on; each is called on the thread that reloads.
struct ReloadTargets {
  std::function<Result<std::string>(const std::string& assignment)> set;  ///< LiveNumbers::Set
  std::function<void(const RunSettings&)> stop_rules;
  std::function<void(std::optional<std::uint64_t>)> max_disk;
  std::function<void(LogLevel)> log_level;
};

/// One thread.
class Reloading {
 public:
  Reloading(const Config& running, ReloadTargets targets, LogCallback log);

  /// Applies what may change. Of a config that could not be read, only says why in the log.
  void Apply(const Result<Config>& fresh);

 private:
  struct Change {
    std::string path, before, after;
    ConfigEntry entry;
  };
  std::vector<Change> ChangesIn(const ConfigEntries& fresh) const;
  /// What was done, "" if this cannot change while the learner runs.
  Result<std::string> Take(const Change& change, const Config& fresh);
  void SetOwnRates(const std::string& path, const ConfigEntries& fresh) const;

  ConfigEntries running_;
  const ReloadTargets targets_;
  const LogCallback log_;
};

}  // namespace murmurate
