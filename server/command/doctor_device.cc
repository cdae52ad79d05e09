// What `murmurate doctor` says of GPUs.
#include <algorithm>

#include "server/command/doctor_lines.h"
#include "server/device/device_trial.h"
#include "server/device/open_device.h"

namespace murmurate {
namespace {

/// Of "cuDNN is missing: ...; run `pip ...`", the one is what was found, the other what to do.
DoctorLine Missing(const std::string& what, const std::string& sentence, bool asked) {
  const std::size_t end = sentence.find("; ");
  DoctorLine line{.what = what,
                  .state = asked ? DoctorState::kMissing : DoctorState::kNote,
                  .found = sentence.substr(0, end),
                  .asked = asked};
  if (end != std::string::npos) line.remedy = sentence.substr(end + 2);
  return line;
}

DoctorLine LibraryLine(const DeviceLibrary& library, bool asked) {
  if (library.path.empty()) return Missing(library.name, library.missing, asked);
  return {.what = library.name, .found = library.version + ", " + library.path, .asked = asked};
}

DoctorLine GpuLine(const SurveyedDevice& device, bool asked) {
  const std::string what = "cuda:" + std::to_string(device.index);
  if (!device.unusable.empty()) return Missing(what, device.unusable, asked);
  return {.what = what,
          .found = device.name + ", " + std::to_string(device.memory_bytes >> 20) +
                   " MiB, compute capability " + std::to_string(device.major) + '.' +
                   std::to_string(device.minor),
          .asked = asked};
}

DoctorLine TrialLine(const std::string& what, const Status& status, bool asked) {
  if (status.ok()) return {.what = what, .found = "computes what it should", .asked = asked};
  DoctorLine line = Missing(what, status.message(), asked);
  line.state = DoctorState::kMissing;
  return line;
}

/// Opens the device and tries each kind of work that its libraries allow.
std::vector<DoctorLine> Trials(const std::string& name, bool has_products, bool has_convolutions,
                               bool asked) {
  const auto device = OpenDevice(name);
  if (!device.ok()) return {Missing(name + ", opened", device.status().message(), asked)};
  std::vector<DoctorLine> lines = {TrialLine(name + ", a kernel", TryKernel(device->get()), asked)};
  if (has_products)
    lines.push_back(TrialLine(name + ", a product", TryProduct(device->get()), asked));
  if (has_convolutions)
    lines.push_back(TrialLine(name + ", a convolution", TryConvolution(device->get()), asked));
  return lines;
}

}  // namespace

std::vector<DoctorLine> DeviceLines(const std::string& device) {
  const bool asked = !device.empty();
  const std::string name = asked ? device : "cuda:0";
  const auto survey = SurveyDevices();
  if (!survey.ok()) return {Missing("plug-in cuda", survey.status().message(), asked)};
  std::vector<DoctorLine> lines = {
      {.what = "plug-in cuda", .found = FindPlugIn(kDevicePlugIn), .asked = asked}};
  for (const DeviceLibrary& library : survey->libraries)
    lines.push_back(LibraryLine(library, asked && library.name == kProductLibrary));
  if (!survey->missing.empty()) {
    lines.push_back(Missing("NVIDIA driver", survey->missing, asked));
    return lines;
  }
  lines.push_back({.what = "NVIDIA driver", .found = survey->driver, .asked = asked});
  const auto index = ParseDeviceName(name);
  for (const SurveyedDevice& one : survey->devices)
    lines.push_back(GpuLine(one, asked && index.ok() && one.index == *index));
  const auto has = [&](const char* library) {
    return std::ranges::any_of(survey->libraries, [&](const DeviceLibrary& one) {
      return one.name == library && !one.path.empty();
    });
  };
  for (DoctorLine& line : Trials(name, has(kProductLibrary), has(kConvolutionLibrary), asked))
    lines.push_back(std::move(line));
  return lines;
}

}  // namespace murmurate
