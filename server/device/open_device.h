// The way to a GPU: the plug-in murmurate_device_cuda.so (server/compute/device/plug_in.h), which is
// opened when a device is first asked for.
#pragma once

#include <memory>
#include <string>

#include "murmurate/status.h"
#include "server/compute/device/plug_in.h"

namespace murmurate {

/// The index of "cuda" (0) or "cuda:N"; kInvalidArgument: it is neither.
Result<int> ParseDeviceName(const std::string& name);

/// Opens "cuda" or "cuda:N"; `choices` as DeviceRequest has them. kInvalidArgument: another name; kResource: one sentence that says what
/// is missing (plug-in, driver, GPU, library) and what to do. Threads that the driver starts get no
/// signals. The device may be used by another thread than this one, but by one at a time.
Result<std::unique_ptr<Device>> OpenDevice(const std::string& name,
                                           DevicePrecision precision = DevicePrecision::kFp32,
                                           bool deterministic = true,
                                           std::shared_ptr<AlgorithmChoices> choices = nullptr);

/// What of this machine a device needs; kResource: there is no plug-in, or it cannot be loaded.
Result<DeviceSurvey> SurveyDevices();

inline constexpr char kDevicePlugIn[] = "murmurate_device_cuda.so";
/// The path of a plug-in's file, beside the executable or where plug-ins are installed; empty: it is
/// nowhere.
std::string FindPlugIn(const std::string& file);

}  // namespace murmurate
