#include "shared/trajectory/frame_stack.h"

#include <algorithm>
#include <cstring>

#include "shared/core/check.h"
#include "shared/model/network_plan.h"

namespace murmurate {
namespace {

/// The channels of a picture as NetworkPlan sees it: {h, w} has one, {h, w, c} c; else a vector.
int Channels(const ObservationInput& input) {
  if (input.shape.size() == 2) return 1;
  return input.shape.size() == 3 ? input.shape[2] : input.elements;
}

/// `from` null: zeros.
void SpreadBytes(const std::byte* from, std::size_t pixels, std::size_t stride, std::byte* to) {
  for (std::size_t i = 0; i < pixels; ++i) to[i * stride] = from[i];
}

void Spread(const std::byte* from, std::size_t pixels, std::size_t pixel_bytes, std::size_t stride,
            std::byte* to) {
  if (from == nullptr) {
    for (std::size_t i = 0; i < pixels; ++i) std::memset(to + i * stride, 0, pixel_bytes);
  } else if (pixel_bytes == 1) {
    SpreadBytes(from, pixels, stride, to);
  } else {
    for (std::size_t i = 0; i < pixels; ++i) {
      std::memcpy(to + i * stride, from + i * pixel_bytes, pixel_bytes);
    }
  }
}

/// The frequent case, four frames of one byte a pixel, `rows` oldest last: one pass.
void InterleaveFour(std::span<const std::byte* const> rows, std::size_t from, std::size_t pixels,
                    std::byte* to) {
  const std::byte *a = rows[3] + from, *b = rows[2] + from, *c = rows[1] + from,
                  *d = rows[0] + from;
  for (std::size_t i = 0; i < pixels; ++i) {
    to[4 * i] = a[i];
    to[4 * i + 1] = b[i];
    to[4 * i + 2] = c[i];
    to[4 * i + 3] = d[i];
  }
}

bool AllThere(std::span<const std::byte* const> rows) {
  return std::all_of(rows.begin(), rows.end(), [](const std::byte* row) { return row != nullptr; });
}

}  // namespace

FrameStack::FrameStack(const ModelSpec& spec) : stacked_(StackedObservation(spec)) {
  const ObservationLayout single(spec.row_space());
  for (std::size_t i = 0; i < single.inputs().size(); ++i) {
    const ObservationInput& input = single.inputs()[i];
    Input& added = inputs_.emplace_back();
    added.stack = spec.StackOf(input.name);
    added.from = input.offset_bytes;
    added.to = stacked_.inputs()[i].offset_bytes;
    const int channels = added.stack == 1 ? input.elements : Channels(input);
    added.pixels = static_cast<std::size_t>(input.elements / channels);
    added.pixel_bytes = input.size_bytes() / added.pixels;
    depth_ = std::max(depth_, added.stack);
  }
}

void FrameStack::Assemble(std::span<const std::byte* const> rows, std::byte* stacked) const {
  MURMURATE_CHECK(static_cast<int>(rows.size()) == depth_ && rows[0] != nullptr,
                  "as many rows as the deepest stack, and the present one there");
  for (const Input& input : inputs_) {
    const auto own = rows.first(static_cast<std::size_t>(input.stack));
    std::byte* to = stacked + input.to;
    if (input.stack == 4 && input.pixel_bytes == 1 && AllThere(own)) {
      InterleaveFour(own, input.from, input.pixels, to);
      continue;
    }
    const std::size_t stride = own.size() * input.pixel_bytes;
    for (std::size_t age = 0; age < own.size(); ++age) {
      const std::byte* from = own[age] == nullptr ? nullptr : own[age] + input.from;
      Spread(from, input.pixels, input.pixel_bytes, stride,
             to + (own.size() - 1 - age) * input.pixel_bytes);
    }
  }
}

}  // namespace murmurate
