// A kernel reads and writes memory of the device alone: what its call points to is looked at.
#pragma once

namespace murmurate {

struct HostKernel;
class HostMemory;

/// Aborts when a word of the call is the address of memory that the program has and the device does
/// not.
void CheckPointers(const HostKernel& kernel, const void* call, const HostMemory& memory);

}  // namespace murmurate
