#include "server/operate/checkpoint_writer.h"

#include <chrono>
#include <limits>
#include <new>
#include <utility>

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
  if (steps < next_steps_ && now_ns < next_ns_) return false;
  next_steps_ = StepsAfter(steps, every_steps_);
  next_ns_ = NsAfter(now_ns, every_ns_);
  return true;
}

void CheckpointTimes::StartAt(std::uint64_t steps) {
  next_steps_ = StepsAfter(steps, every_steps_);
}

CheckpointWriter::CheckpointWriter(const Retention& retention, LogCallback log,
                                   OnWritten on_written)
    : retention_(retention), log_(std::move(log)), on_written_(std::move(on_written)) {}

void CheckpointWriter::Post(const std::string& directory, Make make) {
  {
    std::lock_guard lock(mutex_);
    std::swap(waiting_[directory], make);  // the older one is freed outside the lock
  }
  posted_.notify_one();
}

bool CheckpointWriter::PollOnce(int timeout_ms) {
  std::map<std::string, Make>::node_type order;
  {
    std::unique_lock lock(mutex_);
    posted_.wait_for(lock, std::chrono::milliseconds(timeout_ms),
                     [this] { return woken_ || !waiting_.empty(); });
    woken_ = false;
    if (waiting_.empty()) return false;
    order = waiting_.extract(waiting_.begin());
  }
  Write(order.key(), order.mapped());
  return true;
}

void CheckpointWriter::Wake() {
  {
    std::lock_guard lock(mutex_);
    woken_ = true;
  }
  posted_.notify_one();
}

void CheckpointWriter::Write(const std::string& directory, const Make& make) try {
  const Checkpoint checkpoint = make();
  const auto written = WriteCheckpoint(directory, checkpoint);
  Note(directory, written.status(), checkpoint);
  if (!written.ok()) return;
  if (on_written_) on_written_(directory, checkpoint);
  const Status pruned = PruneCheckpoints(directory, retention_, checkpoint.weights.steps);
  if (!pruned.ok() && log_)
    log_(LogLevel::kWarning, "an old checkpoint stays: " + pruned.message());
} catch (const std::bad_alloc&) {
  Note(directory, ResourceError(directory + ": no memory to write a checkpoint"), {});
}

void CheckpointWriter::Note(const std::string& directory, const Status& status,
                            const Checkpoint& checkpoint) {
  std::string sentence;
  {
    std::lock_guard lock(mutex_);
    CheckpointHealth& health = health_[directory];
    health.trouble = status.message();
    if (status.ok()) {
      ++health.written;
      health.last_step = checkpoint.weights.steps;
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
