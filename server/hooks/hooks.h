// Hooks: the hooks of a run: each event goes to those that want it, each on its own thread.
//
// A run without [[hook]] has no such object, and nothing is measured or copied for one.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "server/hooks/hook_runner.h"

namespace murmurate {

class Hooks {
 public:
  /// Starts the hooks of a config that is resolved; null when it has none. `tools` without the name
  /// and the model.
  static Result<std::unique_ptr<Hooks>> Start(const ConfigEntries& entries, HookTools tools);
  /// As Cancel.
  ~Hooks();

  /// Names the run's first model, before an event of it is posted. Later calls do nothing. Any
  /// thread.
  void NameFirstModel(const std::string& model);
  /// Whether any hook wants events of this moment. Any thread.
  bool wants(HookMoment moment) const;
  /// Hands an event to the hooks that want it, in the order of the calls; returns at once. Any
  /// thread.
  void Post(HookEvent event);
  /// No model may begin a batch at present. Any thread.
  bool Hold() const;
  /// What is known of each, in the order of the config. Any thread.
  std::vector<Reading> Reports() const;

  /// Once, after the last Post that matters: gives every hook what waits for it and then `end`, at
  /// the same time, and waits for each as long as its end_s says. Later calls do nothing. `end` is
  /// given the name of the run's first model.
  void Finish(HookEvent end);
  /// As Finish, but no hook is given `end`: of a run that never began. Does nothing after Finish.
  void Cancel();
  /// True when the thread of some hook was left inside a call that did not return: the process must
  /// end with _exit.
  static bool left_a_thread();

 private:
  Hooks() = default;
  void AwaitAll(const HookRunner::Event& end);

  std::vector<std::unique_ptr<HookRunner>> runners_;
  std::mutex mutex_;  ///< of the order of events, and of the first model's name
  std::string first_model_;
  bool finished_ = false;
};

}  // namespace murmurate
