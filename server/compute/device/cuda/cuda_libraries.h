// Libraries of CUDA that are opened when they are first needed: they are large (cuBLASLt has 540 MB),
// and a machine without a GPU has none. They are looked for
//
//   in the folders of $MURMURATE_CUDA_PATH, separated by colons
//   beside the plug-in
//   in lib/python3*/site-packages/nvidia/*/lib of $VIRTUAL_ENV, then of ~/.local, /usr/local, /usr,
//     where pip leaves them
//   in /usr/local/cuda*/lib64 and lib
//   where the loader looks ($LD_LIBRARY_PATH, /etc/ld.so.conf)
#pragma once

#include <string>
#include <vector>

#include "murmurate/status.h"

namespace murmurate {

struct CudaLibraryName {
  std::string name;     ///< "cuBLASLt"
  std::string file;     ///< "libcublasLt.so.13"
  std::string package;  ///< of pip: "nvidia-cublas"
};

/// Folders that exist, in their order, without those that only the loader knows.
std::vector<std::string> CudaLibraryFolders();

/// A library that stays open until the process ends.
class CudaLibrary {
 public:
  /// kResource: one sentence that names what was looked for, where, and how to install it.
  static Result<CudaLibrary> Open(const CudaLibraryName& name);

  /// A function of the library; kResource: it has none of that name.
  template <typename Function>
  Status Find(const char* symbol, Function** function) const {
    *function = reinterpret_cast<Function*>(Symbol(symbol));
    return *function != nullptr ? Status() : Without(symbol);
  }
  const std::string& path() const { return path_; }

 private:
  void* Symbol(const char* symbol) const;
  Status Without(const char* symbol) const;

  void* handle_ = nullptr;
  std::string path_;
};

}  // namespace murmurate
