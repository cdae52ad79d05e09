// Observation: what an agent sees at one step: views of the game's own memory, read inside Act.
//
//   agent.Act({{"camera", pixels}, {"speed", speed}}, &action);    // a Dict, named parts in any
//   order agent.Act(mmr::Observation(pixels), &action);                  // one input
//   agent.Act(mmr::Observation(hand).Mask(allowed), &action);      // and what may be done now
//
// Nothing is copied until Act is called, and nothing is allocated.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>

namespace murmurate {

/// One input of the observation space. Takes anything contiguous: std::vector, std::array, a span.
struct ObservationPart {
  enum class Element : std::uint8_t { kFloat32, kUint8, kInt32 };

  ObservationPart() = default;
  /// A Box of numbers.
  ObservationPart(std::string_view part, std::span<const float> values)
      : name(part), data(values.data()), count(values.size()), element(Element::kFloat32) {}
  /// A Box of bytes (Image): rows of pixels, the channels of a pixel together.
  ObservationPart(std::string_view part, std::span<const std::uint8_t> values)
      : name(part), data(values.data()), count(values.size()), element(Element::kUint8) {}
  /// Categories (Discrete, MultiDiscrete) and flags (MultiBinary).
  ObservationPart(std::string_view part, std::span<const std::int32_t> values)
      : name(part), data(values.data()), count(values.size()), element(Element::kInt32) {}

  std::string_view name;
  const void* data = nullptr;
  std::size_t count = 0;
  Element element = Element::kFloat32;
};

class Observation {
 public:
  static constexpr std::size_t kMaxParts = 32;

  Observation() = default;
  explicit Observation(std::span<const float> values) { Add({{}, values}); }
  explicit Observation(std::span<const std::uint8_t> values) { Add({{}, values}); }
  explicit Observation(std::span<const std::int32_t> values) { Add({{}, values}); }
  Observation(std::initializer_list<ObservationPart> parts) {
    for (const ObservationPart& part : parts) Add(part);
  }

  /// More than kMaxParts parts abort.
  Observation& Add(const ObservationPart& part);
  /// What may be done at this step: a byte for each choice of each discrete variable of the action,
  /// in the order of its space; nonzero means allowed. Each variable needs an allowed choice. None:
  /// everything is allowed.
  Observation& Mask(std::span<const std::uint8_t> allowed) {
    mask_ = allowed;
    return *this;
  }

  std::span<const ObservationPart> parts() const { return {parts_.data(), count_}; }
  std::span<const std::uint8_t> mask() const { return mask_; }

 private:
  std::array<ObservationPart, kMaxParts> parts_;
  std::size_t count_ = 0;
  std::span<const std::uint8_t> mask_;
};

}  // namespace murmurate
