#include "server/page/readiness.h"

#include "server/metrics/number_text.h"

namespace murmurate {

std::string WhyNotReady(const RunSnapshot& snapshot, const LongestBatch& longest_batch_s) {
  if (snapshot.live_actors == 0 || snapshot.paused) return "";
  std::string why;
  for (const auto& [model, last_ns] : snapshot.batches) {
    const double age_s = static_cast<double>(snapshot.at_ns - last_ns) * 1e-9;
    if (last_ns > 0 && age_s <= longest_batch_s(model)) return "";
    why += (why.empty() ? "model " : "; model ") + model +
           (last_ns > 0 ? " learned from its last batch " + ShortDuration(age_s) + " ago"
                        : " has learned from no batch yet");
  }
  return why.empty() ? "actors are attached, and there is no model yet" : why;
}

}  // namespace murmurate
