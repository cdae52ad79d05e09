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

#include <initializer_list>
#include <string>
#include <utility>
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

/// A function of a library, and the pointer that gets it.
struct CudaSymbol {
  template <typename Function>
  CudaSymbol(const char* symbol, Function** pointer)
      : name(symbol), function(reinterpret_cast<void**>(pointer)) {}
  const char* name;
  void** function;
};

/// A library that stays open until the process ends.
class CudaLibrary {
 public:
  /// kResource: one sentence that names what was looked for, where, and how to install it.
  static Result<CudaLibrary> Open(const CudaLibraryName& name);

  /// Functions of the library; kResource: it has none of that name.
  Status Find(std::initializer_list<CudaSymbol> symbols) const;
  /// "13.1.0", of 130100, which a function of that name gives; empty: there is none.
  std::string Version(const char* symbol) const;
  const std::string& path() const { return path_; }

 private:
  void* handle_ = nullptr;
  std::string path_;
};

/// A library that was opened for some of its functions.
template <typename Functions>
struct OpenedCudaLibrary {
  CudaLibrary library;
  Functions functions = {};

  /// `Functions::Of(library)` finds them. kResource: the library is missing, or a function of it.
  static Result<OpenedCudaLibrary> Open(const CudaLibraryName& name) {
    auto library = CudaLibrary::Open(name);
    if (!library.ok()) return library.status();
    auto functions = Functions::Of(*library);
    if (!functions.ok()) return functions.status();
    return OpenedCudaLibrary{*std::move(library), *functions};
  }
};

}  // namespace murmurate
