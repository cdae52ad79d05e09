// LabelSlots: which samples the last rows of one device were, and what became of their labels.
//
//   kEmpty --a row--> kOpen --its label--> kWaiting --in a batch--> kGiven --trained on--> kDone
//
// A row takes the place of the one `window` rows before it, and whatever that one still was. Ids
// are kept as 64 bits of them: two of 256 ids are taken for one with a chance of 2^15 / 2^64, and
// then one sample is refused as a duplicate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace murmurate {

class LabelSlots {
 public:
  enum class State : std::uint8_t { kEmpty, kOpen, kWaiting, kGiven, kDone };

  /// `window` 0: no labels come later, and nothing is called.
  explicit LabelSlots(int window)
      : ids_(static_cast<std::size_t>(window)), states_(static_cast<std::size_t>(window)) {}

  /// A hash that is the same in every process; never 0. FNV-1a (Fowler, Noll, Vo).
  static std::uint64_t HashOf(std::string_view id);

  /// The row with this id among the last of so many rows.
  std::optional<std::uint64_t> Find(std::uint64_t id, std::uint64_t rows) const;
  /// Begins `row` and returns the state of the row whose place it takes.
  State Begin(std::uint64_t row, std::uint64_t id);
  State StateOf(std::uint64_t row) const { return states_[row % states_.size()]; }
  void Set(std::uint64_t row, State state) { states_[row % states_.size()] = state; }
  /// The oldest kWaiting one of the last of so many rows; one must be there.
  std::uint64_t OldestWaiting(std::uint64_t rows) const;
  /// Labels that have not been trained on: kWaiting and kGiven.
  std::uint32_t Untaught() const;
  /// Whether `row` is among the last of so many rows.
  bool Keeps(std::uint64_t row, std::uint64_t rows) const { return rows - row <= states_.size(); }

  std::size_t bytes() const { return states_.size() * (sizeof(std::uint64_t) + sizeof(State)); }
  /// Words that Save appends and Load takes.
  std::size_t words() const { return ids_.size() + (states_.size() + 7) / 8; }
  /// Labels in a batch are saved as waiting: a run that goes on from here learns them.
  void Save(std::vector<std::uint64_t>* words) const;
  /// False: no Save of a device with so many rows wrote this.
  bool Load(std::span<const std::uint64_t> words, std::uint64_t rows);

 private:
  std::uint64_t FirstOf(std::uint64_t rows) const {
    return rows > states_.size() ? rows - states_.size() : 0;
  }

  std::vector<std::uint64_t> ids_;
  std::vector<State> states_;
};

}  // namespace murmurate
