#include "server/learn/collapse_watch.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "server/metrics/number_text.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

// Of the range:
constexpr double kFallenShare = 0.7, kFrozenShare = 0.5;  ///< below the best
constexpr double kRise = 0.05;                            ///< of what recovers
constexpr double kLittleEntropy = 0.02;                   ///< of the most
constexpr double kStandardErrors = 3.0;
constexpr double kMostKl = 1.0;

}  // namespace

double MostEntropy(const ActionLayout& action) {
  double entropy = 0.0;
  for (const ActionPart& part : action.parts()) {
    if (part.kind == ActionPart::Kind::kContinuous) return 0.0;
    if (part.kind == ActionPart::Kind::kBinary) entropy += part.count * std::log(2.0);
    for (const int choices : part.choices) entropy += std::log(static_cast<double>(choices));
  }
  return entropy;
}

double CollapseWatch::Window::variance() const {
  return std::max(0.0, squares / episodes - mean() * mean());
}

CollapseWatch::News CollapseWatch::Add(const LearnReport& report) {
  News news;
  if (report.held_out) return news;
  if (returned_at_ != 0) {
    const double oldest = static_cast<double>(report.version) - 1.0 - report.staleness_max;
    if (oldest <= static_cast<double>(returned_at_)) return news;
    returned_at_ = 0;
  }
  CountBatch(report);
  if (window_.episodes >= kEpisodes) EndWindow(&news);
  const bool quiet = std::ranges::all_of(in_a_row_, [](std::uint64_t count) { return count == 0; });
  if (quiet && low_.empty()) said_ = false;
  if (!said_) news.collapse = Words(report);
  said_ |= !news.collapse.empty();
  return news;
}

void CollapseWatch::CountBatch(const LearnReport& report) {
  for (const EpisodeRecord& episode : report.episodes) {
    if (episode.mode != 0 || !std::isfinite(episode.raw_return)) continue;
    ++window_.episodes;
    window_.sum += episode.raw_return;
    window_.squares += episode.raw_return * episode.raw_return;
  }
  if (report.trained_steps == 0) return;
  window_.entropy += report.entropy;
  ++window_.batches;
  Count(kTorn, report.approx_kl > kMostKl);
  Count(kNotFinite, (report.updates == 0 && report.skipped_updates > 0) ||
                        !std::isfinite(report.policy_loss) || !std::isfinite(report.value_loss));
}

void CollapseWatch::EndWindow(News* news) {
  const Returns returns{window_.episodes, window_.mean(), window_.variance()};
  const double entropy = window_.batches > 0 ? window_.entropy / window_.batches : most_entropy_;
  window_ = {};
  news->window = true;
  news->best = windows_ == 0 || returns.mean > best_.mean;
  if (windows_++ == 0) first_ = returns;
  if (news->best) best_ = returns;
  last_mean_ = returns.mean;
  last_entropy_ = entropy;
  const double range = best_.mean - first_.mean;
  const bool range_counts = range > std::sqrt(std::max(first_.variance, best_.variance));
  CountFallen(returns.mean, range_counts ? range : 0.0);
  Count(kFrozen, Frozen(returns, entropy, range_counts));
}

/// `range`: 0 where it does not count.
void CollapseWatch::CountFallen(double mean, double range) {
  if (range <= 0.0 || mean >= best_.mean - kFallenShare * range)
    low_.clear();
  else
    low_.push_back(mean);
  if (low_.size() > kLow) low_.erase(low_.begin());
  fallen_ = low_.size() == kLow;
  if (!fallen_) return;
  const auto middle = low_.begin() + kLow / 2;
  const double rise =
      std::accumulate(middle, low_.end(), 0.0) - std::accumulate(low_.begin(), middle, 0.0);
  fallen_ = rise <= kRise * range * kLow / 2;
}

bool CollapseWatch::Frozen(const Returns& returns, double entropy, bool range_counts) const {
  if (entropy >= kLittleEntropy * most_entropy_) return false;
  if (range_counts) return returns.mean < best_.mean - kFrozenShare * (best_.mean - first_.mean);
  const double error =
      std::sqrt(first_.variance / first_.episodes + returns.variance / returns.episodes);
  return returns.mean < first_.mean - kStandardErrors * error;
}

std::string CollapseWatch::Words(const LearnReport& report) {
  const auto reached = [&](Sign sign) { return in_a_row_[sign] >= kInARow; };
  const std::string range =
      " after " + ReturnText(best_.mean) + " at best and " + ReturnText(first_.mean) + " at first";
  const std::string mean = "a mean return of " + ReturnText(last_mean_) + " over " +
                           std::to_string(kEpisodes) + " episodes";
  if (fallen_)
    return mean + ", the last of " + std::to_string(kLow) + " such ones that do not rise," + range;
  if (reached(kFrozen))
    return "a policy that does the same whatever it sees (its entropy is " +
           FormatNumber("%.2g", last_entropy_) + ", of " + FormatNumber("%.2g", most_entropy_) +
           ") and " + mean + ", " + std::to_string(kInARow) + " times in a row," + range;
  const std::string batches = std::to_string(kInARow) + " batches in a row ";
  if (reached(kTorn))
    return batches + "that changed the policy by a KL above 1 (the last by " +
           FormatNumber("%.3g", report.approx_kl) + ")";
  if (reached(kNotFinite)) return batches + "whose loss or gradients were not finite";
  return "";
}

void CollapseWatch::OnReturn(std::uint64_t version) {
  ForgetSigns();
  returned_at_ = version;
}

void CollapseWatch::ForgetSigns() {
  window_ = {};
  in_a_row_ = {};
  low_.clear();
  fallen_ = said_ = false;
}

void CollapseWatch::Forget() {
  ForgetSigns();
  windows_ = 0;
  first_ = best_ = {};
}

void CollapseWatch::Save(const StateWriter& writer) const {
  writer.Words("windows", {{windows_, said_ ? 1u : 0u, returned_at_}});
  writer.Words("in_a_row", in_a_row_);
  writer.Doubles("low", low_);
  writer.Doubles("returns", {{first_.episodes, first_.mean, first_.variance, best_.episodes,
                              best_.mean, best_.variance}});
}

Status CollapseWatch::Load(const StateReader& reader) {
  std::array<std::uint64_t, 3> words{};
  std::array<double, 6> numbers{};
  MURMURATE_RETURN_IF_ERROR(reader.Words("windows", words));
  MURMURATE_RETURN_IF_ERROR(reader.Doubles("returns", numbers));
  MURMURATE_RETURN_IF_ERROR(reader.Words("in_a_row", in_a_row_));
  const auto low = reader.AllDoubles("low");
  if (!low.ok()) return low.status();
  low_.assign(low->begin(), low->begin() + std::min<std::ptrdiff_t>(std::ssize(*low), kLow));
  windows_ = words[0];
  said_ = words[1] != 0;
  returned_at_ = words[2];
  first_ = {numbers[0], numbers[1], numbers[2]};
  best_ = {numbers[3], numbers[4], numbers[5]};
  return {};
}

}  // namespace murmurate
