// ExampleData: data.example, the files that the built-in examples learn from. They are computed, so
// they are the same on every machine, and they are written where data.observations and data.labels
// say.
//
//   parabola       1,000 float32 of -1 to 1, and their squares
//   parabola-grid  50 float32 of -2 to 2 in equal distances, and their squares
//   curve          20,000 pairs (a, b) of float32 of -1 to 1, and sin(3 a) + a b
//   digits         6,000 pictures of 28 x 28 bytes, 784 in a row, of ten classes: each class is four
//                  strokes of its own, moved by up to two pixels and blurred with noise. They have
//                  the size of MNIST's pictures and are none of MNIST's.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "murmurate/status.h"
#include "shared/core/enum_names.h"

namespace murmurate {

struct DataSettings;

enum class ExampleData : std::uint8_t { kParabola, kParabolaGrid, kCurve, kDigits };

inline constexpr EnumName<ExampleData> kExampleDataNames[] = {
    {ExampleData::kParabola, "parabola"},
    {ExampleData::kParabolaGrid, "parabola-grid"},
    {ExampleData::kCurve, "curve"},
    {ExampleData::kDigits, "digits"}};
constexpr std::span<const EnumName<ExampleData>> NamesOf(ExampleData) { return kExampleDataNames; }

/// Writes those of the two files that do not exist, each as a whole: several processes may do it at
/// once. The result is one sentence on what was made and where; "" where nothing was. kResource: a
/// file cannot be written.
Result<std::string> MakeExampleData(const DataSettings& settings);

}  // namespace murmurate
