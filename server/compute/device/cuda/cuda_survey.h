// What NVIDIA's driver and runtime say of this machine.
#pragma once

#include "murmurate/status.h"
#include "server/compute/device/plug_in.h"

namespace murmurate {

/// The lowest compute capability that the kernels are compiled for, times ten.
inline constexpr int kLowestCapability = 75;

/// kResource: no driver is running, it is too old for the runtime that the plug-in was built with,
/// or it has no GPU that this process may use; one sentence.
Status CheckDriver();

/// What there is, of a driver that CheckDriver found good.
std::vector<SurveyedDevice> SurveyedDevices();

/// kResource: there is no device of that index, or it is too old.
Status CheckDevice(int index);

/// "580.65.06"; empty: no driver is running.
std::string DriverVersion();

/// "13.0", of CUDA's way to say 13000.
std::string CudaVersionText(int version);

}  // namespace murmurate
