#include "server/page/readiness.h"

#include <algorithm>

#include "server/metrics/number_text.h"

namespace murmurate {

std::string WhyNotReady(const RunSnapshot& snapshot, const LongestBatch& longest_batch_s) {
  if (snapshot.live_actors == 0 || snapshot.paused) return "";
  std::string why;
  for (const auto& [model, last_ns] : snapshot.batches) {
    const auto since_s = [&](std::int64_t ns) {
      return static_cast<double>(snapshot.at_ns - ns) * 1e-9;
    };
    const double idle_s = since_s(std::max(last_ns, snapshot.unpaused_ns));
    if (last_ns > 0 && idle_s <= longest_batch_s(model)) return "";
    why += (why.empty() ? "model " : "; model ") + model +
           (last_ns > 0 ? " learned from its last batch " + ShortDuration(since_s(last_ns)) + " ago"
                        : " has learned from no batch yet");
  }
  return why.empty() ? "actors are attached, and there is no model yet" : why;
}

}  // namespace murmurate
