#include "server/operate/curve.h"

#include <algorithm>
#include <cstddef>

#include "shared/core/check.h"

namespace murmurate {
namespace {

constexpr std::size_t kMaxCurvePoints = 4096;

}  // namespace

void Curve::Add(const CurvePoint& point) {
  if (!points_.empty() && point.steps < points_.back().steps + stride_) return;
  points_.push_back(point);
  if (points_.size() < kMaxCurvePoints) return;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < points_.size(); i += 2) points_[kept++] = points_[i];
  points_.resize(kept);
  stride_ = std::max<std::uint64_t>(1, (points_.back().steps - points_.front().steps) / kept);
}

void Curve::Save(const std::string& name, const StateWriter& writer) const {
  std::vector<double> means;
  std::vector<std::uint64_t> steps;
  for (const CurvePoint& point : points_) {
    means.push_back(point.mean_return);
    steps.push_back(point.steps);
  }
  writer.Doubles(name + "_returns", means);
  writer.Words(name + "_steps", steps);
}

Status Curve::Load(const std::string& name, const StateReader& reader) {
  const auto steps = reader.AllWords(name + "_steps");
  if (!steps.ok()) return steps.status();
  std::vector<double> means(steps->size());
  MURMURATE_RETURN_IF_ERROR(reader.Doubles(name + "_returns", means));
  for (std::size_t i = 0; i < means.size(); ++i) Add({(*steps)[i], means[i]});
  return {};
}

}  // namespace murmurate
