// ArrayWorker: a program of one's own as a worker of a parameter server. The model is a list of
// named arrays, which lie in the program's memory; the program computes gradients, or steps the
// arrays itself, and the worker exchanges them with the shards by the rule that the shards have
// (rule_settings.h): it asks them.
//
//   Pull, Wait                      the arrays become the center (or begin the model)
//   Push(gradients, rate), Wait     a gradient: the window, a local step where the rule has one,
//                                   an exchange when the window is full
//   Exchange(steps), Wait           an exchange now; of arrays that the program has stepped itself
//                                   under the rules in delta form and the elastic ones
//
// Pull, Push and Exchange begin a request and do not wait; Wait finishes it and writes the answer
// into the arrays. Between the two the program may compute; with `overlap` it may also step the
// arrays, and what it stepped is kept. A shard that is away is waited for, through its restarts: a
// push that was answered is sent again to a shard whose checkpoint lacks it.
//
// One thread calls everything but Interrupt. The arrays must outlive this.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "murmurate/log.h"
#include "murmurate/status.h"
#include "server/parameters/optimizer.h"
#include "server/parameters/rule_settings.h"
#include "shared/model/array_list.h"

namespace murmurate {

struct ArrayWorkerOptions {
  std::string model = "default";  ///< its name at the shards
  std::uint32_t worker = 0;       ///< a number of its own among the model's workers
  OptimizerSettings optimizer = {.name = OptimizerSettings::Name::kSgd};  ///< of local steps
  double max_grad_norm = 0.0;        ///< of each gradient that is pushed; 0: never clipped
  bool overlap = false;              ///< arrays may be stepped between Push or Exchange and Wait
  std::size_t share_from_bytes = 1;  ///< blocks that go through shared memory; SIZE_MAX: none
  LogCallback log;
};

/// What the worker's exchanges were, since it was made.
struct ArrayReport {
  bool joined = false;        ///< the first Pull is finished
  RuleSettings rule;          ///< then: the shards'
  std::uint64_t version = 0;  ///< merges of the first shard, when the arrays were read last
  std::uint64_t pushes = 0;   ///< exchanges that were answered
  std::uint64_t late = 0;     ///< of them those that came after their round and changed nothing
  std::uint64_t kept = 0;     ///< pushes that are in a checkpoint of every shard
  double staleness = 0.0;     ///< of the last exchange: versions that others were ahead
  double staleness_mean = 0.0, staleness_max = 0.0;
  double wait_s = 0.0;  ///< inside Wait
  std::string waits;    ///< which shard is waited for, and what may be done; "": none
};

class ArrayWorker {
 public:
  /// `shards`: their addresses, in the order of their indices. `memory`: of each array its numbers,
  /// which are the model's first if this is the worker that begins it (worker 0). Nothing is waited
  /// for. kInvalidArgument: an array or an address that cannot be.
  static Result<std::unique_ptr<ArrayWorker>> Open(const std::vector<std::string>& shards,
                                                   std::vector<NamedArray> arrays,
                                                   std::vector<std::span<float>> memory,
                                                   ArrayWorkerOptions options);
  /// Leaves the model: the shards do not wait for this worker any more.
  ~ArrayWorker();

  /// kUnavailable: a request is under way, Wait for it first. Any other failure is a refusal by a
  /// shard, and final.
  Status Pull();
  /// `gradients`: one for each array, in their order. kInvalidArgument: one has another size, or a
  /// number that is not finite: nothing is pushed then. Before the first Pull: kUnavailable.
  Status Push(std::span<const std::span<const float>> gradients, double learning_rate);
  /// `steps`: how many steps the program has made of the arrays since the last exchange, beside
  /// those of Push. kInvalidArgument: the rule pushes gradients, and Push was not called since.
  Status Exchange(int steps);

  /// True when nothing is under way any more; false when `timeout_ns` is over (< 0: never).
  /// kUnavailable: it was interrupted.
  Result<bool> Wait(std::int64_t timeout_ns);
  bool under_way() const;
  ArrayReport Report() const;

  /// Any thread, and a signal handler: Wait returns soon, now and from now on.
  void Interrupt();

 private:
  struct State;
  explicit ArrayWorker(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace murmurate
