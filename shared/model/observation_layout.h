// ObservationLayout: how one observation lies in memory: in a trajectory's column, on the wire, and
// where a model's encoders find their inputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "murmurate/spaces.h"
#include "murmurate/status.h"

namespace murmurate {

/// One leaf of the observation space.
struct ObservationInput {
  enum class Element : std::uint8_t { kFloat32, kUint8, kInt32 };
  std::string name;  ///< empty when the space is no kDict
  Element element = Element::kFloat32;
  std::vector<int> shape;        ///< categories: {their number}
  std::vector<int> categories;   ///< kInt32: how many values each number has (flags: 2)
  int elements = 0;              ///< numbers in it
  std::size_t offset_bytes = 0;  ///< from the start of the row; a multiple of 4

  std::size_t size_bytes() const {
    return std::size_t{element == Element::kUint8 ? 1u : 4u} * elements;
  }
  /// kInt32: the width of its one-hot form. Otherwise `elements`.
  int encoded_count() const;
};

/// A row: the float32 and int32 inputs first, in the order of the space, then the bytes; each input
/// starts at a multiple of 4, and what lies between and after them is zero.
///   | place float32 3 | kind int32 2 | camera uint8 7056 | 0..3 bytes |
/// For one float32 box a row is its numbers and nothing else.
class ObservationLayout {
 public:
  /// `observation` has passed CheckSpaces.
  explicit ObservationLayout(const Space& observation);

  const std::vector<ObservationInput>& inputs() const { return inputs_; }  ///< in the space's order
  std::size_t row_bytes() const { return row_bytes_; }                     ///< a multiple of 4
  /// Whether the one input is float32: the row is an array of floats.
  bool plain() const;

  /// Checks a row from outside for floats that are not finite and categories that do not exist. The
  /// status names the input and the place. `row` may be misaligned.
  Status Check(const std::byte* row) const;

 private:
  std::vector<ObservationInput> inputs_;
  std::size_t row_bytes_ = 0;
};

}  // namespace murmurate
