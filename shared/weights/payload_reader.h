// WeightsPayloadReader: a payload on its way from where it lies (a shared segment, chunks) into a sink, in
// slices that stay in the first cache: beside the sink, nothing ever holds the whole.
#pragma once

#include <algorithm>
#include <cstddef>

#include "shared/core/aligned_floats.h"
#include "shared/model/parameter_layout.h"
#include "shared/weights/preamble.h"

namespace murmurate {

class WeightsPayloadReader {
 public:
  explicit WeightsPayloadReader(const ParameterLayout& layout)
      : layout_(layout), slice_(kSliceBytes / sizeof(float)) {}

  void Begin(WeightSink* into) {
    received_ = 0;
    into->Begin();
  }
  /// The next `bytes` of the payload, a multiple of 8. `load(to, count)` copies as many bytes as it
  /// is asked for, one after the other.
  template <typename Load>
  void Consume(std::size_t bytes, WeightSink* into, Load load) {
    while (bytes > 0) {
      const bool begins = received_ < sizeof(Preamble);
      const std::size_t count =
          std::min(bytes, begins ? sizeof(Preamble) - received_ : kSliceBytes);
      load(begins ? reinterpret_cast<std::byte*>(&preamble_) + received_
                  : reinterpret_cast<std::byte*>(slice_.data()),
           count);
      if (!begins) {
        into->Put((received_ - sizeof(Preamble)) / sizeof(float),
                  {slice_.data(), count / sizeof(float)});
      }
      received_ += count;
      bytes -= count;
    }
  }
  /// The act settings, after all of the payload.
  Result<ActSettings> act() const { return ReadPreamble(layout_, preamble_); }
  std::size_t received() const { return received_; }

 private:
  static constexpr std::size_t kSliceBytes = 16 * 1024;
  const ParameterLayout layout_;
  AlignedFloats slice_;
  Preamble preamble_;
  std::size_t received_ = 0;
};

}  // namespace murmurate
