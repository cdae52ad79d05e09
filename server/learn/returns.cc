#include "server/learn/returns.h"

#include <algorithm>
#include <cmath>

#include "shared/core/check.h"
#include "shared/trajectory/trajectory.h"

namespace murmurate {

void Vtrace(const VtraceSettings& settings, std::span<const float> log_ratio,
            std::span<const float> reward, std::span<const std::uint8_t> flags,
            std::span<const float> value, std::span<const float> next_value,
            std::span<float> target, std::span<float> advantage) {
  const std::size_t n = reward.size();
  MURMURATE_CHECK(log_ratio.size() == n && flags.size() == n && value.size() == n &&
                      next_value.size() == n && target.size() == n && advantage.size() == n,
                  "all columns of a trajectory must have the same length");
  double correction = 0.0;  // v_{s+1} - V(x_{s+1})
  for (std::size_t s = n; s-- > 0;) {
    const bool terminated = (flags[s] & kTerminatedFlag) != 0;
    if (terminated || (flags[s] & kTruncatedFlag) != 0) correction = 0.0;
    const double gamma = terminated ? 0.0 : settings.gamma;
    const double next = terminated ? 0.0 : next_value[s];
    const double ratio = std::exp(static_cast<double>(log_ratio[s]));
    const double error = reward[s] + gamma * next - value[s];
    const double weight = settings.rho_pg_bar ? std::min(*settings.rho_pg_bar, ratio) : 1.0;
    advantage[s] = static_cast<float>(weight * (error + gamma * settings.lambda * correction));
    correction = std::min(settings.rho_bar, ratio) * error +
                 gamma * settings.lambda * std::min(settings.c_bar, ratio) * correction;
    target[s] = static_cast<float>(value[s] + correction);
  }
}

}  // namespace murmurate
