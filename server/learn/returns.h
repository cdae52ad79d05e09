// Returns: value targets and advantages of a trajectory. Pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace murmurate {

struct VtraceSettings {
  double gamma = 0.99, lambda = 0.95, rho_bar = 1.0, c_bar = 1.0;
  std::optional<double> rho_pg_bar = {};  ///< not set: the advantage is not weighted
};

/// V-trace (Espeholt et al. 2018, arXiv 1802.01561) in rlax's lambda form, per formulas in
/// docs: for one trajectory of n steps
///   gamma_t = gamma (1 - terminated_t), k_t = 1 - (terminated_t or truncated_t)
///   rho_t = min(rho_bar, pi/mu), c_t = lambda min(c_bar, pi/mu)
///   delta_t = rho_t (r_t + gamma_t V(x_{t+1}) - V(x_t))
///   v_s - V(x_s) = delta_s + gamma_s k_s c_s (v_{s+1} - V(x_{s+1}))
///   A_s = r_s + gamma_s (lambda v_{s+1} + (1 - lambda) V(x_{s+1})) - V(x_s)
///         [V(x_{s+1}) stands for v_{s+1} where k_s = 0]
/// With rho_pg_bar A_s is multiplied by min(rho_pg_bar, pi/mu). Without, the weight is to enter
/// once, in the loss, as r = pi_theta/mu. With pi = mu, A is GAE(gamma, lambda) and
/// v = V + A in both.
/// `value` [n] is V(x_t); `next_value` [n] is V of each step's successor (the next row, the final
/// observation of a truncation, the observation after the last step; ignored where terminated).
void Vtrace(const VtraceSettings& settings, std::span<const float> log_ratio,
            std::span<const float> reward, std::span<const std::uint8_t> flags,
            std::span<const float> value, std::span<const float> next_value,
            std::span<float> target, std::span<float> advantage);

}  // namespace murmurate
