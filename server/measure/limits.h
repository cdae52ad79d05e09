// Limits: what this machine can do at best, measured in the same run as what it is compared with.
// Machines are noisy, so ours and the limit are taken in turns and only their ratio is compared.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace murmurate {

/// Floating-point operations a second of one core in a loop of fused multiply-adds that never
/// leaves its registers, with the widest vectors of the kernel set in use. Takes about 1 ms.
double MeasureFmaPeak();

/// Bytes a second of one core's memcpy over a block of that size (read and written counted once).
double MeasureCopyBandwidth(std::size_t bytes);

/// Seconds of processor time that one call of a computation takes on this thread: the shortest of
/// `rounds` rounds, each of as many calls as fill `round_s`.
double SecondsPerCall(const std::function<void()>& call, int rounds = 40, double round_s = 2.5e-4);

/// The same by the wall's clock, for what several threads do together: others' work counts too, so
/// only the shortest of many rounds means anything.
double WallSecondsPerCall(const std::function<void()>& call, int rounds = 40,
                          double round_s = 2.5e-4);

/// One line of a bench: "name: OURS unit, limit LIMIT unit, ratio R, target T: met|MISSED".
struct BenchRow {
  std::string name, unit;
  double ours = 0, limit = 0;
  double target = 0;            ///< 0: none
  bool target_is_ratio = true;  ///< else the target is in `unit`
  bool smaller_is_better = false;
};
void Print(const BenchRow& row);

}  // namespace murmurate
