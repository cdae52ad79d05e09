// DeviceSettings: where a model is trained, as [model] says it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "server/compute/device/device.h"
#include "shared/core/enum_names.h"

namespace murmurate {

inline constexpr EnumName<DevicePrecision> kPrecisionNames[] = {{DevicePrecision::kFp32, "fp32"},
                                                                {DevicePrecision::kTf32, "tf32"},
                                                                {DevicePrecision::kBf16, "bf16"}};
constexpr std::span<const EnumName<DevicePrecision>> NamesOf(DevicePrecision) {
  return kPrecisionNames;
}

/// How a device of that precision computes, if its hardware has the type of pictures.
constexpr DeviceArithmetic ArithmeticOf(DevicePrecision precision) {
  return {precision,
          precision == DevicePrecision::kBf16 ? ElementType::kBf16 : ElementType::kFloat32};
}

struct DeviceSettings {
  /// "cpu", "cuda" (the first one), "cuda:3", or "auto": a GPU where arithmetic says that it pays
  /// (choose_device.h).
  std::string name = "cpu";
  DevicePrecision precision = DevicePrecision::kFp32;
  bool deterministic = true;  ///< the same bits each time, on the same device and libraries
  bool tune = true;           ///< libraries' algorithms are chosen by time (algorithm_book.h)

  bool processor() const { return name == "cpu"; }
  bool chosen() const { return name == "auto"; }
  /// A GPU, and nothing else will do.
  bool gpu() const { return !processor() && !chosen(); }
  bool operator==(const DeviceSettings&) const = default;
};

/// Whether a name is one of those above; the number is below 64.
bool IsDeviceName(std::string_view name);
/// "cuda:0, tf32, not deterministic, not tuned"
std::string InWords(const DeviceSettings& settings);

}  // namespace murmurate
