// Hdf5Array in a build without libhdf5.
#include "server/data/hdf5_array.h"

namespace murmurate {

bool hdf5::IsBuiltIn() { return false; }

Result<std::unique_ptr<SampleArray>> Hdf5Array::Open(const std::string& path, const std::string&) {
  return InvalidArgument(
      path +
      ": this murmurate was built without HDF5; install libhdf5-dev and build it "
      "again, or write .npy files with `python3 -m murmurate.arrays " +
      path + " --to folder`");
}

}  // namespace murmurate
