// ObservationRow: what a game shows in one space, put together as a row of its layout. Numbers that
// are not finite and categories that do not exist make it a row of zeros that is not good. The
// game's thread; no lock, no allocation after construction.
#pragma once

#include <cstddef>
#include <span>

#include "client/agent_shared.h"
#include "murmurate/observation.h"
#include "murmurate/status.h"
#include "shared/core/aligned_floats.h"
#include "shared/model/spaces_text.h"

namespace murmurate {

class ObservationRow {
 public:
  /// `layout` must outlive it. `shared`: where what is wrong is noted.
  ObservationRow(const ObservationLayout& layout, Side side, AgentShared& shared);

  /// One float32 box, which is read until the next call; as many numbers as numbers().
  void Show(std::span<const float> values);
  /// False: the parts are not those of the space (Check says which), and nothing has changed.
  bool TryShow(const Observation& observation);
  Status Check(const Observation& observation) const;
  /// Of a space that is one float32 box; else no size at all.
  std::size_t numbers() const { return numbers_; }
  static constexpr std::size_t kNotPlain = ~std::size_t{0};

  std::span<const std::byte> row() const { return row_; }
  bool good() const { return good_; }

 private:
  void Clear();

  const ObservationLayout& layout_;
  const Side side_;
  AgentShared& shared_;
  const std::size_t numbers_;
  AlignedFloats joined_;  ///< parts put together, or zeros
  std::span<const std::byte> row_;
  bool good_ = true;
};

}  // namespace murmurate
