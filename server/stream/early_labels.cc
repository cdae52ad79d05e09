#include "server/stream/early_labels.h"

#include <algorithm>
#include <bit>

namespace murmurate {

bool EarlyLabels::Has(std::uint64_t id) const {
  return std::ranges::find(labels_, id, &Label::id) != labels_.end();
}

std::size_t EarlyLabels::Keep(std::uint64_t id, std::uint64_t rows,
                              std::span<const double> values) {
  const std::size_t leaving = labels_.size() < most_ ? 0 : labels_.size() - most_ + 1;
  Erase(0, leaving);
  labels_.push_back({id, rows});
  values_.insert(values_.end(), values.begin(), values.end());
  return leaving;
}

bool EarlyLabels::Take(std::uint64_t id, std::vector<double>* values) {
  const auto found = std::ranges::find(labels_, id, &Label::id);
  if (found == labels_.end()) return false;
  const auto at = static_cast<std::size_t>(found - labels_.begin());
  const double* const first = values_.data() + at * targets_;
  values->assign(first, first + targets_);
  Erase(at, 1);
  return true;
}

std::size_t EarlyLabels::Expire(std::uint64_t rows, std::uint64_t window) {
  std::size_t old = 0;
  while (old < labels_.size() && labels_[old].rows + window <= rows) ++old;
  Erase(0, old);
  return old;
}

void EarlyLabels::Erase(std::size_t first, std::size_t count) {
  const auto label = labels_.begin() + static_cast<std::ptrdiff_t>(first);
  labels_.erase(label, label + static_cast<std::ptrdiff_t>(count));
  const auto value = values_.begin() + static_cast<std::ptrdiff_t>(first * targets_);
  values_.erase(value, value + static_cast<std::ptrdiff_t>(count * targets_));
}

std::size_t EarlyLabels::BytesOf(int most, int targets) {
  return static_cast<std::size_t>(most) *
         (sizeof(Label) + static_cast<std::size_t>(targets) * sizeof(double));
}

void EarlyLabels::Save(std::vector<std::uint64_t>* words) const {
  words->push_back(labels_.size());
  for (const Label& label : labels_) words->insert(words->end(), {label.id, label.rows});
  for (const double value : values_) words->push_back(std::bit_cast<std::uint64_t>(value));
}

bool EarlyLabels::Load(std::span<const std::uint64_t>* words) {
  if (words->empty()) return false;
  const std::uint64_t count = words->front();
  *words = words->subspan(1);
  if (count > words->size() / (2 + targets_)) return false;
  labels_.clear();
  values_.clear();
  for (std::size_t i = 0; i < count; ++i) labels_.push_back({(*words)[2 * i], (*words)[2 * i + 1]});
  *words = words->subspan(2 * count);
  for (std::size_t i = 0; i < count * targets_; ++i)
    values_.push_back(std::bit_cast<double>((*words)[i]));
  *words = words->subspan(count * targets_);
  if (labels_.size() > most_) Erase(0, labels_.size() - most_);
  return true;
}

}  // namespace murmurate
