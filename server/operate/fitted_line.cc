#include "server/operate/fitted_line.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace murmurate {
namespace {

constexpr std::size_t kGap = 2;

std::string Joined(const std::vector<std::string>& parts) {
  std::string line;
  for (const std::string& part : parts)
    if (!part.empty()) line += (line.empty() ? "" : std::string(kGap, ' ')) + part;
  return line;
}

}  // namespace

void FittedLine::Offer(int rank, std::string text, std::string shorter) {
  if (rank == kAlways) text = shorter;
  if (!text.empty()) parts_.push_back({rank, std::move(text), std::move(shorter)});
}

std::string FittedLine::Text() const {
  std::vector<std::string> shown;
  for (const Part& part : parts_) shown.push_back(part.shorter);
  std::vector<std::size_t> order(parts_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [this](std::size_t i) { return parts_[i].rank; });
  for (const std::size_t i : order) {
    const std::string before = std::exchange(shown[i], parts_[i].text);
    if (Joined(shown).size() > width_) shown[i] = before;
  }
  return Joined(shown);
}

}  // namespace murmurate
