#include "server/learn/rate_by_kl.h"

#include <algorithm>
#include <cmath>

namespace murmurate {
namespace {

constexpr double kStep = 1.5, kMost = 30.0;

}  // namespace

void RateByKl::Learned(double approx_kl) {
  if (wanted_ <= 0.0 || !std::isfinite(approx_kl)) return;
  if (approx_kl > 2.0 * wanted_) factor_ /= kStep;
  if (approx_kl > 0.0 && approx_kl < 0.5 * wanted_) factor_ *= kStep;
  factor_ = std::clamp(factor_, 1.0 / kMost, kMost);
}

void RateByKl::Save(const StateWriter& writer) const {
  if (wanted_ > 0.0) writer.Doubles("factor", {{factor_}});
}

Status RateByKl::Load(const StateReader& reader) {
  const auto saved = reader.AllDoubles("factor");
  if (wanted_ <= 0.0 || !saved.ok()) return {};  // a run that had another rule
  if (saved->size() != 1 || !(saved->front() >= 1.0 / kMost && saved->front() <= kMost))
    return InvalidData("rate: expected one factor of 1/30 to 30");
  factor_ = saved->front();
  return {};
}

}  // namespace murmurate
