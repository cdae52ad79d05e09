// What a daemon and a plug-in with a device must have in common.
#pragma once

namespace murmurate {

/// "0.1.0 91f0b2d4c35a7e68": the version, and a sum over the headers that both sides compile
/// (device.h, plug_in.h, the list of kernels and their calls).
const char* DeviceBuild();

}  // namespace murmurate
