#include "server/compute/device/cuda/cuda_survey.h"

#include <cuda_runtime_api.h>

#include <cstdlib>
#include <fstream>

#include "shared/core/check.h"

namespace murmurate {
namespace {

std::string Words(cudaError_t code) { return cudaGetErrorString(code); }

/// What hides GPUs from this process; "": nothing.
std::string Hidden() {
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return visible == nullptr ? "" : std::string(" (CUDA_VISIBLE_DEVICES is \"") + visible + "\")";
}

std::string Unusable(const SurveyedDevice& device) {
  if (10 * device.major + device.minor >= kLowestCapability) return "";
  return "cuda:" + std::to_string(device.index) + " is a " + device.name +
         " of compute capability " + std::to_string(device.major) + '.' +
         std::to_string(device.minor) + "; murmurate needs 7.5 or higher (Turing, 2018)";
}

/// "the NVIDIA driver 580.65.06"
std::string Driver() {
  const std::string version = DriverVersion();
  return "the NVIDIA driver" + (version.empty() ? "" : ' ' + version);
}

int DeviceCount() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

}  // namespace

std::string CudaVersionText(int version) {
  return std::to_string(version / 1000) + '.' + std::to_string(version % 1000 / 10);
}

std::string DriverVersion() {
  std::string version;
  std::ifstream("/sys/module/nvidia/version") >> version;
  if (!version.empty()) return version;
  std::ifstream text("/proc/driver/nvidia/version");  // "... Kernel Module  580.65.06  Tue ..."
  for (std::string word; text >> word;)
    if (word.find('.') != std::string::npos && std::isdigit(word.front()) != 0) return word;
  return "";
}

Status CheckDriver() {
  int count = 0, driver = 0;
  const cudaError_t code = cudaGetDeviceCount(&count);
  if (code == cudaSuccess && count > 0) return {};
  (void)cudaGetLastError();
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0)
    return ResourceError("no NVIDIA driver is running here (" + Words(code) +
                         "); install one, or write device = \"cpu\"");
  if (driver < CUDART_VERSION && code == cudaErrorInsufficientDriver)
    return ResourceError(Driver() + " has CUDA " + CudaVersionText(driver) +
                         ", this murmurate was built with CUDA " + CudaVersionText(CUDART_VERSION) +
                         "; install a newer driver, or build murmurate with an older CUDA toolkit");
  return ResourceError(Driver() + " has no GPU for this process (" +
                       Words(code == cudaSuccess ? cudaErrorNoDevice : code) + ')' + Hidden());
}

std::vector<SurveyedDevice> SurveyedDevices() {
  std::vector<SurveyedDevice> devices(static_cast<std::size_t>(DeviceCount()));
  for (std::size_t i = 0; i < devices.size(); ++i) {
    SurveyedDevice& device = devices[i];
    device.index = static_cast<int>(i);
    cudaDeviceProp properties{};
    const cudaError_t code = cudaGetDeviceProperties(&properties, device.index);
    if (code != cudaSuccess) {
      device.unusable = "cuda:" + std::to_string(i) + " does not answer (" + Words(code) + ')';
      continue;
    }
    device.name = properties.name;
    device.major = properties.major;
    device.minor = properties.minor;
    device.memory_bytes = properties.totalGlobalMem;
    device.unusable = Unusable(device);
  }
  return devices;
}

Status CheckDevice(int index) {
  const std::vector<SurveyedDevice> devices = SurveyedDevices();
  if (index < 0 || static_cast<std::size_t>(index) >= devices.size())
    return ResourceError("there is no cuda:" + std::to_string(index) + ": this machine has " +
                         std::to_string(devices.size()) +
                         (devices.size() == 1 ? " GPU, cuda:0" : " GPUs, from cuda:0 on") +
                         Hidden());
  const std::string unusable = devices[static_cast<std::size_t>(index)].unusable;
  return unusable.empty() ? Status() : ResourceError(unusable);
}

}  // namespace murmurate
