// CheckpointWriter: what mmr-checkpoint repeats: take what a learning thread has handed over, write
// it, verify it, delete what need not stay.
//
//   mmr-learn    --Post-->     one place a model --PollOnce--> checkpoints/step-...
//   mmr-evaluate --PostBest--> another           --PollOnce--> checkpoints/best-step-...
//
// A thread of its own, because a slow disk takes seconds for what a status must be answered in
// meanwhile. One place a model, newest wins (of those that were evaluated, the best): who learns
// never waits for the disk, and memory never holds more than one copy of a kind that waits, and one
// that is being written and compared with what is there. First come, first written.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "murmurate/log.h"
#include "server/operate/checkpoint.h"

namespace murmurate {

/// CheckpointTimes says when the next one is due, by steps or by time, or because it was asked for.
/// One thread.
class CheckpointTimes {
 public:
  /// `every_steps` 0, `every_s` 0: not by this.
  CheckpointTimes(std::uint64_t every_steps, double every_s, std::int64_t start_ns);
  /// True once each time; the next is counted from there.
  bool Due(std::uint64_t steps, std::int64_t now_ns);
  /// One is due now; any thread.
  void Ask() { asked_ = true; }
  /// A resumed run counts on from these steps.
  void StartAt(std::uint64_t steps);

 private:
  const std::uint64_t every_steps_;
  const std::int64_t every_ns_;
  std::uint64_t next_steps_;
  std::int64_t next_ns_;
  std::atomic<bool> asked_{false};
};

/// CheckpointHealth is how the writing of one directory goes.
struct CheckpointHealth {
  std::uint64_t written = 0, failures = 0;
  std::optional<std::uint64_t> last_step;  ///< of the last one that is good
  std::string trouble;                     ///< why the last attempt failed; "" when it did not
  std::uint64_t best_failures = 0;         ///< of the weights that evaluated best
  std::string best_trouble = {};           ///< likewise, of those
};

class CheckpointWriter {
 public:
  /// Called on the writing thread: makes the checkpoint from what the learning thread copied.
  using Make = std::function<Checkpoint()>;
  /// Called on the writing thread when a checkpoint of `directory` was tried: kOk when it is on the
  /// disk, verified. Its state may be moved out of it, either way.
  using OnTried =
      std::function<void(const std::string& directory, const Status& written, Checkpoint&)>;

  CheckpointWriter(const Retention& retention, LogCallback log, OnTried on_tried = {});

  /// Posts a checkpoint and returns at once; one that still waits for the same directory is
  /// forgotten. Any thread.
  void Post(const std::string& directory, Make make);
  /// Posts weights alone that an evaluation has scored: they are kept if they beat the best so far,
  /// of the earlier lives of the run, too. What is not a finite number is never the best.
  void PostBest(const std::string& directory, EvaluatedReturn evaluated, Make make);
  /// Waits up to `timeout_ms` for something to write, and writes it. False: there was nothing.
  bool PollOnce(int timeout_ms);
  void Wake();

  CheckpointHealth Health(const std::string& directory) const;  ///< any thread

 private:
  struct Order {
    std::string directory;
    Make make;
    std::optional<EvaluatedReturn> evaluated = {};
  };
  void Put(Order order);
  void Write(const Order& order);
  void WriteBest(const Order& order);
  void Note(const std::string& directory, const Status& status, std::uint64_t steps);
  void NoteBest(const std::string& directory, const Status& status);

  const Retention retention_;
  const LogCallback log_;
  const OnTried on_tried_;
  mutable std::mutex mutex_;
  std::condition_variable posted_;
  bool woken_ = false;
  std::vector<Order> waiting_;  ///< at most one of a kind for each directory
  std::map<std::string, CheckpointHealth> health_;
};

}  // namespace murmurate
