// EarlyLabels: the labels of one device that came before their samples, until these come.
//
// At most `most` are kept: another one takes the place of the oldest, and one whose sample has not
// come within label_window rows leaves, too. Ids are those of LabelSlots::HashOf.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace murmurate {

class EarlyLabels {
 public:
  /// `most` 0: Keep is not called.
  EarlyLabels(int most, int targets)
      : most_(static_cast<std::size_t>(most)), targets_(static_cast<std::size_t>(targets)) {}

  bool Has(std::uint64_t id) const;
  /// Keeps a label with one value a target, which came after so many rows. Returns how many others
  /// had to leave.
  std::size_t Keep(std::uint64_t id, std::uint64_t rows, std::span<const double> values);
  /// Moves the values of the label with this id to `values`. False: there is none.
  bool Take(std::uint64_t id, std::vector<double>* values);
  /// Those leave that came `window` rows ago or earlier. Returns how many.
  std::size_t Expire(std::uint64_t rows, std::uint64_t window);

  std::size_t size() const { return labels_.size(); }
  /// Bytes that so many labels take.
  static std::size_t BytesOf(int most, int targets);

  /// Appends what Load takes.
  void Save(std::vector<std::uint64_t>* words) const;
  /// Takes what Save wrote off the front of `words`; the newest that there is room for. False: no
  /// Save wrote this.
  bool Load(std::span<const std::uint64_t>* words);

 private:
  struct Label {
    std::uint64_t id, rows;
  };
  void Erase(std::size_t first, std::size_t count);

  std::size_t most_, targets_;
  std::vector<Label> labels_;   ///< the oldest first
  std::vector<double> values_;  ///< [labels][targets]
};

}  // namespace murmurate
