#include "server/compute/device/cuda/cuda_libraries.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <sstream>

namespace murmurate {
namespace {

namespace fs = std::filesystem;

std::string Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

class Folders {
 public:
  void Add(const fs::path& folder) {
    std::error_code error;
    if (!fs::is_directory(folder, error)) return;
    const std::string name = folder.lexically_normal();
    if (std::ranges::find(names_, name) == names_.end()) names_.push_back(name);
  }
  /// Each folder `parent`/X/`below` whose X begins with `prefix`, the highest names first.
  void AddEach(const fs::path& parent, const std::string& prefix, const fs::path& below) {
    for (const fs::path& child : Children(parent, prefix)) Add(child / below);
  }
  /// The libraries that pip left in lib/python3.X/`packages` of `root`.
  void AddPackages(const fs::path& root, const std::string& packages) {
    for (const fs::path& python : Children(root / "lib", "python3"))
      AddEach(python / packages / "nvidia", "", "lib");
  }
  std::vector<std::string> names() && { return std::move(names_); }

 private:
  static std::vector<fs::path> Children(const fs::path& parent, const std::string& prefix) {
    std::vector<fs::path> children;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(parent, error))
      if (entry.path().filename().string().starts_with(prefix)) children.push_back(entry.path());
    std::ranges::sort(children, std::greater<>());
    return children;
  }

  std::vector<std::string> names_;
};

/// Of the plug-in that this code is in.
fs::path OwnFolder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&CudaLibraryFolders), &info) == 0) return {};
  return fs::path(info.dli_fname).parent_path();
}

std::string PathOf(void* handle, const std::string& file) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr) return file;
  return map->l_name;
}

std::string NotThere(const CudaLibraryName& name, const std::vector<std::string>& folders) {
  std::string where;
  for (const std::string& folder : folders) where += folder + ", ";
  return name.name + " is missing: " + name.file + " is not in " + where +
         "nor where the loader looks; run `pip install " + name.package +
         "` in the virtual environment that is active, or set MURMURATE_CUDA_PATH to its folder";
}

}  // namespace

std::vector<std::string> CudaLibraryFolders() {
  Folders folders;
  std::istringstream given(Variable("MURMURATE_CUDA_PATH"));
  for (std::string folder; std::getline(given, folder, ':');)
    if (!folder.empty()) folders.Add(folder);
  folders.Add(OwnFolder());
  if (const std::string active = Variable("VIRTUAL_ENV"); !active.empty())
    folders.AddPackages(active, "site-packages");
  if (const std::string home = Variable("HOME"); !home.empty())
    folders.AddPackages(home + "/.local", "site-packages");
  folders.AddPackages("/usr/local", "site-packages");
  folders.AddPackages("/usr/local", "dist-packages");
  folders.AddPackages("/usr", "dist-packages");
  for (const char* below : {"lib64", "lib"}) {
    folders.Add(fs::path("/usr/local/cuda") / below);
    folders.AddEach("/usr/local", "cuda-", below);
  }
  return std::move(folders).names();
}

Result<CudaLibrary> CudaLibrary::Open(const CudaLibraryName& name) {
  const std::vector<std::string> folders = CudaLibraryFolders();
  std::error_code error;
  std::string broken;
  CudaLibrary library;
  for (const std::string& folder : folders) {
    const std::string path = folder + '/' + name.file;
    if (!fs::exists(path, error)) continue;
    library.path_ = path;
    library.handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library.handle_ != nullptr) return library;
    if (broken.empty()) broken = dlerror();
  }
  library.handle_ = dlopen(name.file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library.handle_ != nullptr) {
    library.path_ = PathOf(library.handle_, name.file);
    return library;
  }
  if (!broken.empty())
    return ResourceError(name.name + " cannot be loaded (" + broken + "); install it again");
  return ResourceError(NotThere(name, folders));
}

Status CudaLibrary::Find(std::initializer_list<CudaSymbol> symbols) const {
  for (const CudaSymbol& symbol : symbols) {
    *symbol.function = dlsym(handle_, symbol.name);
    if (*symbol.function == nullptr)
      return ResourceError(path_ + " has no function " + symbol.name +
                           "; install a newer version of it");
  }
  return {};
}

std::string CudaLibrary::Version(const char* symbol) const {
  std::size_t (*get)() = nullptr;
  if (!Find({{symbol, &get}}).ok()) return "";
  const std::size_t version = get();
  return std::to_string(version / 10000) + '.' + std::to_string(version / 100 % 100) + '.' +
         std::to_string(version % 100);
}

}  // namespace murmurate
