#include "server/parameters/merge_round.h"

#include <algorithm>
#include <cmath>

#include "server/compute/vector_math.h"
#include "server/parameters/apply.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

/// Rounds are merged in pieces that stay in the first cache, so each part is read once.
constexpr std::size_t kPiece = 2048;

void SumParts(std::span<const RoundPart> parts, std::span<float> sum) {
  for (std::size_t begin = 0; begin < sum.size(); begin += kPiece) {
    const std::size_t count = std::min(kPiece, sum.size() - begin);
    const std::span<float> piece = sum.subspan(begin, count);
    SetScaled(parts[0].rate_ratio, parts[0].contribution.subspan(begin, count), piece);
    for (const RoundPart& part : parts.subspan(1))
      AddScaled(part.rate_ratio, part.contribution.subspan(begin, count), piece);
  }
}

}  // namespace

std::size_t ChooseRound(std::uint64_t round, std::span<const RoundPart> arrivals,
                        std::span<RoundPart> chosen) {
  std::size_t count = 0;
  for (const RoundPart& part : arrivals) {
    const std::span<RoundPart> taken = chosen.first(count);
    const auto is_same = [&](const RoundPart& other) { return other.worker == part.worker; };
    if (count == chosen.size()) break;
    if (part.round != round || std::any_of(taken.begin(), taken.end(), is_same)) continue;
    chosen[count++] = part;
  }
  std::sort(chosen.begin(), chosen.begin() + static_cast<std::ptrdiff_t>(count),
            [](const RoundPart& a, const RoundPart& b) { return a.worker < b.worker; });
  return count;
}

float ClipFactor(double norm, double max_norm) {
  return max_norm > 0.0 && norm > max_norm ? static_cast<float>(max_norm / norm) : 1.0f;
}

double MergeRound(const RuleSettings& rule, std::span<const RoundPart> parts, const RoundStep& step,
                  std::span<float> scratch, std::span<float> center, Optimizer* optimizer) {
  MURMURATE_CHECK(IsSynchronous(rule.name) && !parts.empty(), "a round of a rule with a barrier");
  SumParts(parts, scratch);
  if (PushesGradient(rule)) Divide(scratch, static_cast<float>(parts.size()), scratch);
  const double norm = Norm(scratch);
  if (!std::isfinite(norm)) return norm;
  if (PushesGradient(rule)) {
    optimizer->Step(step.learning_rate, ClipFactor(norm, step.max_grad_norm), scratch, center);
    optimizer->LookAhead(center);
  } else {
    AddScaled(1.0f, scratch, center);
  }
  return norm;
}

}  // namespace murmurate
