// What `murmurate doctor` finds: a line for each thing that this murmurate can use, with its state and
// the remedy where it is missing.
#pragma once

#include <string>
#include <vector>

namespace murmurate {

enum class DoctorState {
  kOk,
  kNote,     ///< it works; something else would be better
  kMissing,  ///< what needs it does not work
};

struct DoctorLine {
  std::string what;  ///< "NVIDIA driver"
  DoctorState state = DoctorState::kOk;
  std::string found;        ///< "580.65.06", or why there is none
  std::string remedy = "";  ///< empty: none is needed
  bool asked = false;       ///< the device that was asked for needs it
};

/// Of this build: which plug-ins there are.
std::vector<DoctorLine> PlugInLines();
/// Of the machine: processor, vectors, memory, limits, ports, folders.
std::vector<DoctorLine> MachineLines();
/// Of the host: locked memory, huge pages, shared memory.
std::vector<DoctorLine> HostLines();
/// Of GPUs: driver, libraries, each GPU, and whether `device` computes rightly ("": cuda:0, where
/// there is one, and nothing is asked for).
std::vector<DoctorLine> DeviceLines(const std::string& device);

/// "ok       NVIDIA driver  580.65.06", a line each, and below it the remedy.
std::string DoctorText(const std::vector<DoctorLine>& lines);
/// {"device": "cuda:0", "ok": true, "lines": [{"what": ..., "state": "ok", ...}]}
std::string DoctorJson(const std::vector<DoctorLine>& lines, const std::string& device);
/// Whether all that was asked for is there.
bool HasAllThatWasAsked(const std::vector<DoctorLine>& lines);

}  // namespace murmurate
