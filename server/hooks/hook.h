// Hook: what a run does beside training when something happens in it. Each kind is a class in a
// file of its own and a line in the list of hook_kinds.cc.
//
//   HookEvent --queue--> HookRunner::PollOnce --> Hook::OnEvent      on a thread of the hook's own
//                                                     `--> HookActions
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>

#include "murmurate/log.h"
#include "murmurate/status.h"
#include "server/hooks/hook_event.h"

namespace murmurate {

/// HookScore is what an evaluation of weights came to.
struct HookScore {
  double mean_return = 0, deviation = 0;
  std::uint64_t episodes = 0;
  std::uint64_t steps = 0;  ///< learned from, when the weights were made
};

/// HookReturn is what a model goes back to.
struct HookReturn {
  std::string what;           ///< "checkpoints/step-000000012288 at 0.5 of its learning rate"
  std::uint64_t version = 0;  ///< its newest one, when that was posted
};

/// HookActions is what a hook may ask of the run. Any thread.
struct HookActions {
  /// The run ends as by its own rules; returns at once.
  std::function<void(const std::string& why)> stop = {};
  /// One more checkpoint of `model` is posted at the end of the batch under way; returns at once.
  std::function<void(const std::string& model)> checkpoint = {};
  /// `model` goes back, from its next batch on, to the newest checkpoint whose weights are finite,
  /// or to those that this life of the run began with, and its learning rate is multiplied. Reads
  /// the disk.
  std::function<Result<HookReturn>(const std::string& model, double rate_factor)> restore = {};
  /// `murmurate set`: "difficulty=2". The answer says what has changed.
  std::function<Result<std::string>(const std::string& assignment)> set = {};
  /// Plays so many episodes with the newest checkpoint of the run's first model, without
  /// exploration; `stop` is asked every few steps.
  std::function<Result<HookScore>(int episodes, const std::function<bool()>& stop)> evaluate = {};
  /// The steps that another learner has learned from, or the version that a shard of a parameter
  /// server has come to; `folder`: its run, on this host. kUnavailable: it does not answer.
  std::function<Result<std::uint64_t>(const std::string& folder)> steps_of = {};
};

struct HookTools {
  std::string name = {};    ///< of the hook
  std::string model = {};   ///< whose events it is given; "": the run's first, "*": all
  std::string folder = {};  ///< of the run
  int worker = 0;           ///< the number of this learner among those that share a model
  LogCallback log = {};
  HookActions actions = {};

  /// Whether an event of kEnd is of a model whose events it is given.
  bool OwnEnd(const HookEvent& end) const {
    return model.empty() || model == "*" || model == end.model;
  }
};

/// The runner calls everything on the hook's thread, but for what says so.
class Hook {
 public:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  virtual ~Hook() = default;

  /// The events that it is given; of kEnd all are. Any thread, never changes.
  virtual HookMoments wants() const = 0;
  /// Called before the first event. A failure disables the hook.
  virtual Status Start(std::int64_t /*now_ns*/) { return {}; }
  /// A failure is counted and said.
  virtual Status OnEvent(const HookEvent& event) = 0;
  /// Called before the next event when some had no place in the queue: how many, so far.
  virtual void OnDropped(std::uint64_t /*so_far*/) {}
  /// When OnTime is due, whether or not there are events; monotonic.
  virtual std::int64_t due_ns() const { return kNever; }
  virtual Status OnTime(std::int64_t /*now_ns*/) { return {}; }
  /// Not empty: it has failed for good, or has done what it was for, and is given no more events.
  virtual std::string done() const { return ""; }
  /// How long the end of the run waits for it at most, unless its key end_s says it. Any thread.
  virtual double usual_end_s() const { return 5.0; }
  /// The last call, when its thread ends: also of a hook that did not start, is done, or was given
  /// no end. What it takes counts into the time of the end.
  virtual void Close() {}
  /// A call that waits inside returns soon, now and from now on. Any thread.
  virtual void Interrupt() {}
  /// No model may begin a batch while this holds. Any thread.
  virtual bool holds() const { return false; }
};

}  // namespace murmurate
