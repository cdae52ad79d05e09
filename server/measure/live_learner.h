// LiveLearner: what a bench plays beside: ingest and publishing as the daemon has them, on one
// thread, and in place of learning nothing: what comes is counted and forgotten, and the same
// parameters are published again and again.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "server/ingest/ingest.h"
#include "shared/core/loop.h"
#include "shared/model/model_spec.h"
#include "shared/model/policy_and_value.h"
#include "shared/weights/publishing.h"

namespace murmurate {

class LiveLearner {
 public:
  struct Options {
    std::string address;
    PolicyAndValue spec;
    ActSettings act = {};
    int trajectory_length = 128, batch = 64;
    bool shm = true;
    std::int64_t publish_every_ns = 10 * kNanosecondsPerMillisecond;
  };
  /// A status where the address or a segment of shared memory cannot be had.
  static Result<std::unique_ptr<LiveLearner>> Make(Options options);
  ~LiveLearner();

  /// Any thread: nothing new is published until it is called again. The first version always is.
  void Pause(bool pause) { paused_.store(pause); }
  /// Any thread: at which of its agent's steps each trajectory ended that came since the last call.
  std::vector<std::uint64_t> PopHandOvers();
  const AlignedFloats& parameters() const { return parameters_; }

 private:
  static constexpr std::uint64_t kIncarnation = 99;

  explicit LiveLearner(Options options);
  Status Open();
  void Round();
  void Publish(std::int64_t now_ns);

  const Options options_;
  SocketContext context_;
  AlignedFloats parameters_;
  std::shared_ptr<ExperienceChannel> channel_;
  std::unique_ptr<Publishing> publishing_;
  std::string segment_;
  std::unique_ptr<Ingest> ingest_;
  std::uint64_t version_ = 0;
  std::int64_t next_publish_ns_ = 0;
  std::atomic<bool> paused_{false};
  std::mutex mutex_;
  std::vector<std::uint64_t> hand_overs_;
  std::unique_ptr<Loop> loop_;
};

}  // namespace murmurate
