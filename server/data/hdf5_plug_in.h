// The way to HDF5 files (hdf5_array.h): a shared object that is opened with the first of them.
#pragma once

#include <memory>
#include <string>

#include "murmurate/status.h"
#include "server/data/sample_array.h"

namespace murmurate::hdf5 {

/// As Hdf5Array::Open; kInvalidArgument in a build without libhdf5: what to install.
Result<std::unique_ptr<SampleArray>> Open(const std::string& path, const std::string& data_set);
/// False in a build without libhdf5.
bool IsThere();

}  // namespace murmurate::hdf5

/// What the plug-in has. Both sides are of one build.
extern "C" void murmurate_open_hdf5(
    const std::string& path, const std::string& data_set,
    murmurate::Result<std::unique_ptr<murmurate::SampleArray>>* opened);
