// What murmurate_device_cuda.so has for murmurate (server/compute/device/plug_in.h).
#include "server/compute/device/plug_in.h"

#include <cstdio>
#include <cstring>

#include "server/compute/device/cuda/cuda_products.h"
#include "server/compute/device/cuda/cuda_ranks.h"
#include "server/compute/device/cuda/cuda_survey.h"
#include "server/compute/device/cuda/device_cuda.h"
#include "server/compute/device/device_build.h"
#ifdef MURMURATE_CUDNN
#include "server/compute/device/cuda/cudnn_plans.h"
#endif

namespace murmurate {
namespace {

std::string NotOfThisBuild(const char* asked) {
  return "murmurate_device_cuda.so is of another build than murmurate (" +
         std::string(DeviceBuild()) + ", not " + asked + "); build or install both together";
}

DeviceLibrary Survey(const CudaLibraryName& name, std::string (*version)(const CudaLibrary&)) {
  DeviceLibrary surveyed{.name = name.name};
  const auto library = CudaLibrary::Open(name);
  if (library.ok()) {
    surveyed.path = library->path();
    surveyed.version = version(*library);
  } else {
    surveyed.missing = library.status().message();
  }
  return surveyed;
}

}  // namespace
}  // namespace murmurate

extern "C" {

__attribute__((visibility("default"))) murmurate::Device* MurmurateOpenDevice(
    const murmurate::DeviceRequest* request, char* error, std::uint64_t error_bytes) {
  using namespace murmurate;
  std::string why = NotOfThisBuild(request->build);
  if (std::strcmp(request->build, DeviceBuild()) == 0) {
    auto device = CudaDevice::Open(*request);
    if (device.ok()) return (*std::move(device)).release();
    why = device.status().message();
  }
  std::snprintf(error, error_bytes, "%s", why.c_str());
  return nullptr;
}

__attribute__((visibility("default"))) bool MurmurateSurveyDevices(
    const char* build, murmurate::DeviceSurvey* survey) {
  using namespace murmurate;
  if (std::strcmp(build, DeviceBuild()) != 0) return false;
  survey->driver = DriverVersion();
  survey->missing = CheckDriver().message();
  if (survey->missing.empty()) survey->devices = SurveyedDevices();
  survey->libraries = {Survey(CublasLtName(), CublasLtVersion)};
#ifdef MURMURATE_CUDNN
  survey->libraries.push_back(Survey(CudnnName(), CudnnVersion));
#else
  survey->libraries.push_back({.name = kConvolutionLibrary,
                               .missing = CudaConvolutions::Open({}, true).status().message()});
#endif
#ifdef MURMURATE_NCCL
  survey->libraries.push_back(Survey(NcclName(), NcclVersion));
#else
  CudaFault none;
  survey->libraries.push_back(
      {.name = kSumLibrary, .missing = MakeCudaRanks(0, &none, {})->Prepare().message()});
#endif
  return true;
}

}  // extern "C"
