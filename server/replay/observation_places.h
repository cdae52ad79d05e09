// ObservationPlaces: the rows of observations of a replay by their places, and which were written:
// those of the ring come first, then the blocks of frames, then the rows beside the ring.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "server/experience/kept_rows.h"

namespace murmurate {

class ObservationPlaces : public KeptRows {
 public:
  using Parts = std::array<std::span<const std::byte>, 3>;
  /// Each part is whole rows that lie one after the other, and stays where it is.
  ObservationPlaces(const Parts& parts, std::size_t row_bytes);

  /// The place of a row.
  std::uint32_t PlaceOf(const std::byte* row) const;
  /// From now on what is written is noted, so that PopWritten tells it; nothing was written before.
  void NoteWritten() { notes_ = true; }
  bool notes_written() const { return notes_; }
  /// Rows were written; they lie one after the other in one part.
  void Written(const std::byte* row, std::size_t count);

  std::uint32_t places() const override { return places_; }
  const std::byte* RowAt(std::uint32_t place) const override;
  std::vector<Range> PopWritten() override;

 private:
  /// Of what was written and not popped: beyond these, it is said to be all.
  static constexpr std::size_t kMostRanges = 1u << 16;

  const Parts parts_;
  const std::size_t row_bytes_;
  std::array<std::uint32_t, 3> first_ = {};  ///< place of each part
  std::uint32_t places_ = 0;
  std::vector<Range> written_;
  bool notes_ = false;
};

}  // namespace murmurate
