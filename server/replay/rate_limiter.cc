#include "server/replay/rate_limiter.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "server/metrics/number_text.h"
#include "shared/core/check.h"

namespace murmurate {

RateLimiter::RateLimiter(const ReplaySettings& settings)
    : samples_per_insert_(settings.samples_per_insert),
      learning_starts_(settings.learning_starts),
      samples_of_update_(static_cast<std::uint64_t>(settings.minibatch) *
                         (settings.sequence > 0 ? settings.sequence : 1)),
      most_updates_(settings.most_updates) {}

void RateLimiter::Inserted(std::uint64_t steps) {
  const std::uint64_t before = std::min(steps, learning_starts_ - collected_);
  collected_ += before;
  inserts_ += steps - before;
}

int RateLimiter::UpdatesDue() const {
  if (collected_ < learning_starts_) return 0;
  const double updates = std::floor(due() / static_cast<double>(samples_of_update_));
  return static_cast<int>(std::clamp(updates, 0.0, static_cast<double>(most_updates_)));
}

std::string RateLimiter::Waiting() const {
  if (collected_ < learning_starts_)
    return "collects " + WithCommas(collected_) + " of " + WithCommas(learning_starts_) +
           " steps before it learns";
  if (UpdatesDue() > 0) return "";
  const double used = allowed() > 0 ? static_cast<double>(samples_) / allowed() : 1.0;
  return "learner waits for experience: " + FormatNumber("%.2f", std::floor(used * 100.0) / 100.0) +
         " of the samples that " + WithCommas(inserts_) + " inserts allow are used";
}

void RateLimiter::Save(const StateWriter& writer) const {
  writer.Words("limiter", std::array{inserts_, samples_, collected_});
}

Status RateLimiter::Load(const StateReader& reader, bool filled) {
  std::array<std::uint64_t, 3> saved;
  MURMURATE_RETURN_IF_ERROR(reader.Words("limiter", saved));
  inserts_ = saved[0];
  samples_ = saved[1];
  collected_ = filled ? std::min(saved[2], learning_starts_) : 0;
  return {};
}

}  // namespace murmurate
