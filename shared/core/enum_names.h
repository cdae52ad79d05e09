// EnumName: the words of an enumeration, in one table that messages, configs and files share.
//
//   enum class Shape : std::uint8_t { kLinear, kCosine };
//   inline constexpr EnumName<Shape> kShapeNames[] = {{Shape::kLinear, "linear"},
//                                                     {Shape::kCosine, "cosine"}};
//   constexpr std::span<const EnumName<Shape>> NamesOf(Shape) { return kShapeNames; }
//
// TextOf(Shape::kCosine) is then "cosine", and Named<Shape>("cosine") is Shape::kCosine. NamesOf
// stands in the namespace of the enumeration; its argument only selects the table.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace murmurate {

template <typename E>
struct EnumName {
  E value;
  const char* text;
};

template <typename E>
concept HasNames = requires(E value) {
  NamesOf(value);
};

/// The text of a value; "" for one that is not in the table.
template <HasNames E>
constexpr const char* TextOf(E value) {
  for (const auto& name : NamesOf(value))
    if (name.value == value) return name.text;
  return "";
}

/// The value of a text; nothing for one that is none of the words.
template <HasNames E>
constexpr std::optional<E> Named(std::string_view text) {
  for (const auto& name : NamesOf(E{}))
    if (name.text == text) return name.value;
  return std::nullopt;
}

}  // namespace murmurate
