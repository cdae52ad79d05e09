// Observation: what an agent sees at one step: views of the game's own memory, read inside Act.
//
//   agent.Act(pixels, &action);                                          // one input
//   agent.Act({{"camera", pixels}, {"speed", speed}}, &action);          // a Dict, in any order
//   agent.Act(mmr::Observation(hand).Mask(allowed), &action);            // and what may be done
//   agent.Act({{"kind", std::span(&kind, 1)}, {"hp", std::span(&hp, 1)}}, &action);  // numbers
//
// Nothing is copied until Act is called, and nothing is allocated. It holds no memory of its own:
// an Observation that is kept in a variable must not outlive the vectors and names it was made
// from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <type_traits>

namespace murmurate {

/// One input of the observation space. Takes anything contiguous: std::vector, std::array, a span.
class ObservationPart {
 public:
  enum class Element : std::uint8_t { kFloat32, kUint8, kInt32 };

  /// A Box of numbers.
  ObservationPart(std::string_view name, std::span<const float> values)
      : ObservationPart(name, values.data(), values.size(), Element::kFloat32) {}
  /// A Box of bytes (Image): rows of pixels, the channels of a pixel together.
  ObservationPart(std::string_view name, std::span<const std::uint8_t> values)
      : ObservationPart(name, values.data(), values.size(), Element::kUint8) {}
  /// Categories (Discrete, MultiDiscrete) and flags (MultiBinary).
  ObservationPart(std::string_view name, std::span<const std::int32_t> values)
      : ObservationPart(name, values.data(), values.size(), Element::kInt32) {}

  std::string_view name() const { return {name_, name_size_}; }
  const void* data() const { return data_; }
  std::size_t count() const { return count_; }
  Element element() const { return element_; }

 private:
  friend class Observation;
  ObservationPart() = default;  // left as it is: an Observation has room for many
  ObservationPart(std::string_view name, const void* data, std::size_t count, Element element)
      : name_(name.data()),
        name_size_(name.size()),
        data_(data),
        count_(count),
        element_(element) {}

  const char* name_;
  std::size_t name_size_;
  const void* data_;
  std::size_t count_;
  Element element_;
};

/// All inputs of one step, and the mask of what may be done.
class Observation {
 public:
  static constexpr std::size_t kMaxParts = 32;

  Observation() {}
  /// One input: anything contiguous of float, uint8 or int32.
  template <typename Values>
  requires std::is_constructible_v<ObservationPart, std::string_view, const Values&> Observation(
      const Values& values) {
    Add({{}, values});
  }
  Observation(std::initializer_list<ObservationPart> parts) {
    for (const ObservationPart& part : parts) Add(part);
  }
  Observation(const Observation& other) { *this = other; }
  Observation& operator=(const Observation& other);

  /// More than kMaxParts parts abort.
  Observation& Add(const ObservationPart& part);
  /// Sets the actions allowed at this step: a byte for each choice of each discrete variable of the
  /// action, in the order of its space; nonzero means allowed. Each variable needs an allowed
  /// choice. Without a mask everything is allowed.
  Observation& Mask(std::span<const std::uint8_t> allowed) {
    mask_ = allowed;
    return *this;
  }

  std::span<const ObservationPart> parts() const { return {parts_, count_}; }
  std::span<const std::uint8_t> mask() const { return mask_; }

 private:
  ObservationPart parts_[kMaxParts];
  std::size_t count_ = 0;
  std::span<const std::uint8_t> mask_;
};

}  // namespace murmurate
