// What has become of the parts of a cluster: read from their folders, and asked of those that run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "murmurate/status.h"
#include "server/daemon/cluster_plan.h"

namespace murmurate {

enum class PartLife : std::uint8_t {
  kElsewhere,  ///< on another host
  kMissing,    ///< it was never started
  kUp,         ///< it runs and answers
  kBusy,       ///< it runs and has not answered
  kEnded,      ///< it ended and put its folder in order
  kDied,       ///< it is gone without having done that
};
const char* TextOf(PartLife life);

struct PartState {
  PartLife life = PartLife::kMissing;
  int pid = 0;            ///< 0: no process
  std::string address;    ///< of a shard, where workers reach it; of a learner, where actors do
  std::string answer;     ///< its status as JSON; "": none
  std::string last_line;  ///< that it has printed or logged; "": none
  bool runs() const { return life == PartLife::kUp || life == PartLife::kBusy; }
};

/// Waits at most `answer_ms` for an answer; 0: asks nothing, so what runs is kBusy.
PartState StateOf(const ClusterPart& part, int answer_ms);

/// Asks a part that runs to end, and ends it by SIGTERM where it does not answer.
void AskToEnd(const ClusterPart& part, const PartState& state);

/// What `murmurate cluster status` shows of its first model.
struct PartNumbers {
  std::optional<double> rate, staleness;
  std::optional<std::uint64_t> steps, version, workers;
};
PartNumbers NumbersOf(const PartState& state);

}  // namespace murmurate
