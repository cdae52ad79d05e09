#include "server/data/hdf5_plug_in.h"

#include <dlfcn.h>

#include <filesystem>

namespace murmurate::hdf5 {
namespace {

namespace fs = std::filesystem;

using Opened = Result<std::unique_ptr<SampleArray>>;
constexpr char kFile[] = "murmurate_hdf5.so";

/// Beside the executable, or where it is installed; "": nowhere.
std::string Find() {
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& path : {folder / kFile, folder / MURMURATE_PLUG_INS / kFile})
    if (fs::exists(path, error)) return path;
  return "";
}

Status NotThere(const std::string& path, const std::string& why) {
  return InvalidArgument(
      path + ": " + why +
      "; install libhdf5-dev and build murmurate again, or write .npy files with "
      "`python3 -m murmurate.arrays " +
      path + " --to folder`");
}

}  // namespace

bool IsThere() { return !Find().empty(); }

Opened Open(const std::string& path, const std::string& data_set) {
  const std::string plug_in = Find();
  if (plug_in.empty()) return NotThere(path, "this murmurate was built without HDF5");
  void* const handle = dlopen(plug_in.c_str(), RTLD_NOW | RTLD_LOCAL);
  const auto open =
      handle == nullptr
          ? nullptr
          : reinterpret_cast<decltype(&murmurate_open_hdf5)>(dlsym(handle, "murmurate_open_hdf5"));
  if (open == nullptr)
    return NotThere(path, "HDF5 cannot be loaded (" + std::string(dlerror()) + ")");
  Opened opened = InvalidData("");
  open(path, data_set, &opened);
  return opened;
}

}  // namespace murmurate::hdf5
