// The border between murmurate and the plug-in that has a GPU (murmurate_device_cuda.so): functions of
// C that are looked up by name, so that a daemon links no CUDA and runs where there is none. What they
// hand over are classes of C++, so both sides are of one build: the plug-in compares the build that the
// request names with its own before it reads anything else.
//
// server/device/open_device.h finds and opens it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "server/compute/device/algorithm_choices.h"
#include "server/compute/device/device.h"

namespace murmurate {

/// What is asked for.
struct DeviceRequest {
  const char* build = "";  ///< DeviceBuild() of the caller
  std::int32_t index = 0;  ///< as the driver counts, from 0
  DevicePrecision precision = DevicePrecision::kFp32;
  bool deterministic = true;  ///< the same bits each time, on the same kind of GPU and libraries
  /// Where the algorithms of libraries are kept, which are chosen by time; null: what they propose
  /// first is taken.
  std::shared_ptr<AlgorithmChoices> choices = nullptr;
};

// Libraries that the plug-in opens when they are first needed, for Multiply, Convolve and RankSums.
inline constexpr char kProductLibrary[] = "cuBLASLt", kConvolutionLibrary[] = "cuDNN",
                      kSumLibrary[] = "NCCL";

struct DeviceLibrary {
  std::string name;          ///< "cuBLASLt"
  std::string path = "";     ///< empty: it is not there
  std::string version = "";  ///< "13.1.0"
  std::string missing = "";  ///< one sentence: what was looked for and where, and how to install it
};

struct SurveyedDevice {
  int index = 0;
  std::string name;          ///< "NVIDIA H200"
  int major = 0, minor = 0;  ///< of its compute capability
  std::size_t memory_bytes = 0;
  std::string unusable;  ///< why murmurate cannot use it; empty: it can
};

/// What this machine has, as `murmurate doctor` says it. A survey opens no device.
struct DeviceSurvey {
  std::string driver = "";   ///< "580.65.06"; empty: none is running
  std::string missing = "";  ///< why there is no device at all; one sentence
  std::vector<DeviceLibrary> libraries = {};
  std::vector<SurveyedDevice> devices = {};
};

}  // namespace murmurate

extern "C" {

/// The device; its owner deletes it. Null: a sentence, ended by a zero, lies in `error`.
typedef murmurate::Device* (*MurmurateOpenDeviceFunction)(const murmurate::DeviceRequest* request,
                                                          char* error, std::uint64_t error_bytes);

/// False: the plug-in is of another build than `build`, and `survey` is as it was.
typedef bool (*MurmurateSurveyDevicesFunction)(const char* build, murmurate::DeviceSurvey* survey);

inline constexpr char kMurmurateOpenDevice[] = "MurmurateOpenDevice";
inline constexpr char kMurmurateSurveyDevices[] = "MurmurateSurveyDevices";

}  // extern "C"
