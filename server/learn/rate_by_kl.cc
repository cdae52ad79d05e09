#include "server/learn/rate_by_kl.h"

#include <algorithm>
#include <cmath>

namespace murmurate {
namespace {

constexpr double kStep = 1.5, kFar = 10.0, kLeast = 1.0 / 30.0, kMost = 10.0 / 3.0;

}  // namespace

void RateByKl::Learned(double approx_kl) {
  if (wanted_ <= 0.0 || !std::isfinite(approx_kl)) return;
  const double far = approx_kl / wanted_;
  if (far > kFar)
    factor_ /= std::sqrt(far);
  else if (far > 2.0)
    factor_ /= kStep;
  else if (far > 0.0 && far < 0.5)
    factor_ *= kStep;
  factor_ = std::clamp(factor_, kLeast, kMost);
}

void RateByKl::Save(const StateWriter& writer) const {
  if (wanted_ > 0.0) writer.Doubles("factor", {{factor_}});
}

Status RateByKl::Load(const StateReader& reader) {
  const auto saved = reader.AllDoubles("factor");
  if (wanted_ <= 0.0 || !saved.ok()) return {};  // a run that had another rule
  if (saved->size() != 1 || !(saved->front() > 0.0))
    return InvalidData("rate: expected one factor above 0");
  factor_ = std::clamp(saved->front(), kLeast, kMost);
  return {};
}

}  // namespace murmurate
