// AlgorithmBook: the choices of a device's libraries in two files:
//
//   runs/NAME/device_plans.json             of the run, which is asked first: a run that is resumed
//                                           computes by the same algorithms, to the same bits
//   $XDG_CACHE_HOME/murmurate/plans.json    of the user (~/.cache without that variable), for later
//                                           runs; several processes may write it at once
//
// Each is an object of texts, {"call": "algorithm"}, and is replaced as a whole. A file that is damaged
// counts as empty, and the next choice replaces it. A file that cannot be written is said once, and
// training goes on.
#pragma once

#include <map>
#include <mutex>
#include <string>

#include "murmurate/log.h"
#include "murmurate/status.h"
#include "server/compute/device/algorithm_choices.h"

namespace murmurate {

class AlgorithmBook : public AlgorithmChoices {
 public:
  using Choices = std::map<std::string, std::string>;

  /// Reads both files; before the first call of a device. Empty: there is no such file.
  void Open(const std::string& run_file, const std::string& user_file, LogCallback log);

  std::string Find(const std::string& call) override;
  void Keep(const std::string& call, const std::string& algorithm) override;

  /// The user's; empty: neither variable of the environment is set.
  static std::string UserFile();

 private:
  Choices Read(const std::string& file);
  void KeepInRun(const std::string& call, const std::string& algorithm);
  /// Adds one to what other processes have written there.
  Status AddToUsers(const std::string& call, const std::string& algorithm);
  /// Writes that file no more.
  void GiveUp(std::string* file, const Status& why);

  std::mutex mutex_;
  std::string run_file_, user_file_;
  LogCallback log_;
  Choices run_, user_;
};

}  // namespace murmurate
