#include "server/device/open_device.h"

#include <dlfcn.h>

#include <array>
#include <charconv>
#include <filesystem>

#include "server/compute/device/device_build.h"
#include "shared/core/check.h"
#include "shared/core/no_signals.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;

fs::path ExecutableFolder() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path();
}

fs::path InstalledFolder() { return (ExecutableFolder() / MURMURATE_PLUG_INS).lexically_normal(); }

Status NotThere(const std::string& why) {
  return ResourceError(
      "device = \"cuda\": " + why +
      "; install a CUDA toolkit (`pip install nvidia-cuda-nvcc nvidia-cuda-runtime nvidia-cublas "
      "nvidia-cudnn-cu13`) and build murmurate again, or write device = \"cpu\"");
}

/// A function of the plug-in, which stays open until the process ends.
template <typename Function>
Result<Function> FindFunction(const char* name) {
  const std::string path = FindPlugIn(kDevicePlugIn);
  if (path.empty())
    return NotThere(std::string(kDevicePlugIn) + " is not in " + ExecutableFolder().string() +
                    " nor in " + InstalledFolder().string());
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr)
    return NotThere(std::string("its plug-in cannot be loaded (") + dlerror() + ')');
  const auto function = reinterpret_cast<Function>(dlsym(handle, name));
  if (function == nullptr) return NotThere(path + " is another program's");
  return function;
}

}  // namespace

Result<int> ParseDeviceName(const std::string& name) {
  constexpr std::string_view kPrefix = "cuda:";
  if (name == "cuda") return 0;
  int index = -1;
  const char* const end = name.data() + name.size();
  const bool prefixed = name.starts_with(kPrefix);
  const auto [stop, error] = prefixed
                                 ? std::from_chars(name.data() + kPrefix.size(), end, index)
                                 : std::from_chars_result{name.data(), std::errc::invalid_argument};
  if (error != std::errc() || stop != end || index < 0)
    return InvalidArgument("device \"" + name + "\": expected \"cuda\" or \"cuda:N\", N from 0");
  return index;
}

std::string FindPlugIn(const std::string& file) {
  std::error_code error;
  for (const fs::path& folder : {ExecutableFolder(), InstalledFolder()})
    if (fs::exists(folder / file, error)) return folder / file;
  return "";
}

Result<std::unique_ptr<Device>> OpenDevice(const std::string& name, DevicePrecision precision,
                                           bool deterministic,
                                           std::shared_ptr<AlgorithmChoices> choices) {
  const auto index = ParseDeviceName(name);
  if (!index.ok()) return index.status();
  const NoSignals quiet;
  const auto open = FindFunction<MurmurateOpenDeviceFunction>(kMurmurateOpenDevice);
  if (!open.ok()) return open.status();
  const DeviceRequest request{.build = DeviceBuild(),
                              .index = *index,
                              .precision = precision,
                              .deterministic = deterministic,
                              .choices = std::move(choices)};
  std::array<char, 2048> error{};
  std::unique_ptr<Device> device((*open)(&request, error.data(), error.size()));
  if (device == nullptr) return ResourceError(error.data());
  return device;
}

Result<DeviceSurvey> SurveyDevices() {
  const NoSignals quiet;
  const auto look = FindFunction<MurmurateSurveyDevicesFunction>(kMurmurateSurveyDevices);
  if (!look.ok()) return look.status();
  DeviceSurvey survey;
  if (!(*look)(DeviceBuild(), &survey))
    return ResourceError(FindPlugIn(kDevicePlugIn) +
                         " is of another build than murmurate; build or install both together");
  return survey;
}

}  // namespace murmurate
