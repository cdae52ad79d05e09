#include "server/operate/checkpoint_writer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <new>
#include <utility>

#include "server/operate/checkpoint_directory.h"

namespace murmurate {
namespace {

constexpr auto kNeverSteps = std::numeric_limits<std::uint64_t>::max();
constexpr auto kNeverNs = std::numeric_limits<std::int64_t>::max();

std::uint64_t StepsAfter(std::uint64_t steps, std::uint64_t every) {
  return every == 0 ? kNeverSteps : (steps / every + 1) * every;
}

std::int64_t NsAfter(std::int64_t now_ns, std::int64_t every_ns) {
  return every_ns == 0 ? kNeverNs : now_ns + every_ns;
}

}  // namespace

CheckpointTimes::CheckpointTimes(std::uint64_t every_steps, double every_s, std::int64_t start_ns)
    : every_steps_(every_steps),
      every_ns_(static_cast<std::int64_t>(every_s * 1e9)),
      next_steps_(StepsAfter(0, every_steps)),
      next_ns_(NsAfter(start_ns, every_ns_)) {}

bool CheckpointTimes::Due(std::uint64_t steps, std::int64_t now_ns) {
  if (!asked_.exchange(false) && steps < next_steps_ && now_ns < next_ns_) return false;
  next_steps_ = StepsAfter(steps, every_steps_);
  next_ns_ = NsAfter(now_ns, every_ns_);
  return true;
}

void CheckpointTimes::StartAt(std::uint64_t steps) {
  next_steps_ = StepsAfter(steps, every_steps_);
}

CheckpointWriter::CheckpointWriter(const Retention& retention, LogCallback log, OnTried on_tried)
    : retention_(retention), log_(std::move(log)), on_tried_(std::move(on_tried)) {}

void CheckpointWriter::Post(const std::string& directory, Make make) {
  Put({directory, std::move(make)});
}

void CheckpointWriter::PostBest(const std::string& directory, EvaluatedReturn evaluated,
                                Make make) {
  if (std::isfinite(evaluated.mean_return)) Put({directory, std::move(make), std::move(evaluated)});
}

void CheckpointWriter::Put(Order order) {
  {
    std::lock_guard lock(mutex_);
    const auto same = std::ranges::find_if(waiting_, [&](const Order& waits) {
      return waits.directory == order.directory &&
             waits.evaluated.has_value() == order.evaluated.has_value();
    });
    // guard: CheckpointWriter.NewestWinsAndNothingIsWrittenTwice,
    //   CheckpointWriter.OfBestOnesThatWaitTheBestIsWrittenBesideTheNewestAndCommitsNothing: of the
    //   checkpoints that wait the newest wins, of the best ones the best
    if (same == waiting_.end()) {
      waiting_.push_back(std::move(order));
    } else if (!order.evaluated || Beats(*order.evaluated, *same->evaluated)) {
      std::swap(*same, order);  // the older one is freed outside the lock
    }
  }
  posted_.notify_one();
}

bool CheckpointWriter::PollOnce(int timeout_ms) {
  Order order;
  {
    std::unique_lock lock(mutex_);
    posted_.wait_for(lock, std::chrono::milliseconds(timeout_ms),
                     [this] { return woken_ || !waiting_.empty(); });
    woken_ = false;
    if (waiting_.empty()) return false;
    order = std::move(waiting_.front());
    waiting_.erase(waiting_.begin());
  }
  if (order.evaluated) {
    WriteBest(order);
  } else {
    Write(order);
  }
  return true;
}

void CheckpointWriter::Wake() {
  {
    std::lock_guard lock(mutex_);
    woken_ = true;
  }
  posted_.notify_one();
}

void CheckpointWriter::Write(const Order& order) try {
  Checkpoint checkpoint = order.make();
  const std::uint64_t steps = checkpoint.weights.steps;
  const auto written = WriteCheckpoint(order.directory, checkpoint);
  Note(order.directory, written.status(), steps);
  if (on_tried_) on_tried_(order.directory, written.status(), checkpoint);
  if (!written.ok()) return;
  const Status pruned = PruneCheckpoints(order.directory, retention_, steps);
  if (!pruned.ok() && log_)
    log_(LogLevel::kWarning, "an old checkpoint stays: " + pruned.message());
} catch (const std::bad_alloc&) {
  Note(order.directory, ResourceError(order.directory + ": no memory to write a checkpoint"), 0);
}

void CheckpointWriter::WriteBest(const Order& order) {
  Status status;
  try {
    Checkpoint checkpoint = order.make();
    checkpoint.evaluated = order.evaluated;
    const auto best = KeepBest(order.directory, checkpoint, log_);
    if (best.ok() && !best->ends_with(BestName(checkpoint.weights.steps)))
      return;  // the one that is there is better: nothing was written, and nothing is known
    status = best.status();
  } catch (const std::bad_alloc&) {
    status = ResourceError(order.directory + ": no memory to keep the best weights");
  }
  NoteBest(order.directory, status);
}

void CheckpointWriter::NoteBest(const std::string& directory, const Status& status) {
  {
    std::lock_guard lock(mutex_);
    CheckpointHealth& health = health_[directory];
    health.best_trouble = status.message();
    health.best_failures += status.ok() ? 0 : 1;
  }
  if (!status.ok() && log_)
    log_(LogLevel::kError, "the best weights so far are not kept: " + status.message() +
                               "; training goes on, and the next evaluation that beats those of "
                               "checkpoints/best is kept");
}

void CheckpointWriter::Note(const std::string& directory, const Status& status,
                            std::uint64_t steps) {
  std::string sentence;
  {
    std::lock_guard lock(mutex_);
    CheckpointHealth& health = health_[directory];
    health.trouble = status.message();
    if (status.ok()) {
      ++health.written;
      health.last_step = steps;
      return;
    }
    ++health.failures;
    sentence = "checkpoint not written (" + std::to_string(health.failures) +
               " failed so far, the last good one is " +
               (health.last_step ? "of step " + std::to_string(*health.last_step) : "none yet") +
               "): " + status.message() +
               "; training goes on, the next attempt is the next one due";
  }
  if (log_) log_(LogLevel::kError, sentence);
}

CheckpointHealth CheckpointWriter::Health(const std::string& directory) const {
  std::lock_guard lock(mutex_);
  const auto found = health_.find(directory);
  return found == health_.end() ? CheckpointHealth{} : found->second;
}

}  // namespace murmurate
