#include "server/replay/observation_places.h"

#include <functional>
#include <utility>

#include "shared/core/check.h"

namespace murmurate {

ObservationPlaces::ObservationPlaces(const Parts& parts, std::size_t row_bytes)
    : parts_(parts), row_bytes_(row_bytes) {
  for (std::size_t part = 0; part < parts_.size(); ++part) {
    first_[part] = places_;
    places_ += static_cast<std::uint32_t>(parts_[part].size() / row_bytes_);
  }
}

std::uint32_t ObservationPlaces::PlaceOf(const std::byte* row) const {
  for (std::size_t part = 0; part < parts_.size(); ++part) {
    const std::byte *begin = parts_[part].data(), *end = begin + parts_[part].size();
    if (std::less_equal<>()(begin, row) && std::less<>()(row, end))
      return first_[part] + static_cast<std::uint32_t>((row - begin) / row_bytes_);
  }
  MURMURATE_CHECK(false, "the row is of this replay");
  return 0;
}

void ObservationPlaces::Written(const std::byte* row, std::size_t count) {
  if (!notes_ || count == 0) return;
  const Range range{PlaceOf(row), static_cast<std::uint32_t>(count)};
  if (written_.size() >= kMostRanges) {
    written_.clear();
    for (std::size_t part = 0; part < parts_.size(); ++part)
      written_.push_back(
          {first_[part], static_cast<std::uint32_t>(parts_[part].size() / row_bytes_)});
  } else {
    written_.push_back(range);
  }
}

const std::byte* ObservationPlaces::RowAt(std::uint32_t place) const {
  std::size_t part = parts_.size() - 1;
  while (place < first_[part]) --part;
  return parts_[part].data() + (place - first_[part]) * row_bytes_;
}

std::vector<KeptRows::Range> ObservationPlaces::PopWritten() { return std::exchange(written_, {}); }

}  // namespace murmurate
