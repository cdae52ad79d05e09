#include "server/stream/label_slots.h"

#include <algorithm>

#include "shared/core/check.h"

namespace murmurate {
namespace {

constexpr std::size_t kStatesInAWord = 8;

}  // namespace

std::uint64_t LabelSlots::HashOf(std::string_view id) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : id) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return hash == 0 ? 1 : hash;
}

std::optional<std::uint64_t> LabelSlots::Find(std::uint64_t id, std::uint64_t rows) const {
  for (std::uint64_t row = rows; row > FirstOf(rows); --row)
    if (ids_[(row - 1) % ids_.size()] == id) return row - 1;
  return std::nullopt;
}

LabelSlots::State LabelSlots::Begin(std::uint64_t row, std::uint64_t id) {
  const State before = StateOf(row);
  ids_[row % ids_.size()] = id;
  Set(row, State::kOpen);
  return before;
}

std::uint64_t LabelSlots::OldestWaiting(std::uint64_t rows) const {
  std::uint64_t row = FirstOf(rows);
  while (row < rows && StateOf(row) != State::kWaiting) ++row;
  MURMURATE_CHECK(row < rows, "a label waits");
  return row;
}

std::uint32_t LabelSlots::Untaught() const {
  return static_cast<std::uint32_t>(std::ranges::count_if(
      states_, [](State state) { return state == State::kWaiting || state == State::kGiven; }));
}

void LabelSlots::Save(std::vector<std::uint64_t>* words) const {
  words->insert(words->end(), ids_.begin(), ids_.end());
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if (i % kStatesInAWord == 0) words->push_back(0);
    const State state = states_[i] == State::kGiven ? State::kWaiting : states_[i];
    words->back() |= static_cast<std::uint64_t>(state) << 8 * (i % kStatesInAWord);
  }
}

bool LabelSlots::Load(std::span<const std::uint64_t> words, std::uint64_t rows) {
  std::copy_n(words.begin(), ids_.size(), ids_.begin());
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const std::uint64_t word = words[ids_.size() + i / kStatesInAWord];
    const std::uint64_t state = word >> 8 * (i % kStatesInAWord) & 0xFF;
    if (state > static_cast<std::uint64_t>(State::kDone)) return false;
    if ((state == 0) != (i >= rows)) return false;
    states_[i] = static_cast<State>(state);
  }
  return true;
}

}  // namespace murmurate
