#include "server/operate/checkpoint.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "shared/core/check.h"
#include "shared/model/safetensors.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;

Status Failed(const std::string& path, const std::string& what, int error) {
  return ResourceError(path + ": " + what + " (" + std::strerror(error) +
                       "); free some disk space or check the folder's permissions");
}

Status SyncFolder(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return Failed(path, "cannot be opened", errno);
  const int outcome = fsync(fd), error = errno;
  close(fd);
  return outcome == 0 ? Status() : Failed(path, "cannot be synced", error);
}

Status Rename(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) == 0) return {};
  return Failed(to, "cannot be put in place", errno);
}

Status PointLatestAt(const std::string& folder, const std::string& name) {
  const std::string link = folder + "/.tmp-latest-" + std::to_string(getpid());
  unlink(link.c_str());
  if (symlink(name.c_str(), link.c_str()) != 0) return Failed(link, "cannot be made", errno);
  MURMURATE_RETURN_IF_ERROR(Rename(link, folder + "/latest"));
  return SyncFolder(folder);
}

}  // namespace

Result<std::string> WriteCheckpoint(const std::string& directory, const WeightsFile& weights) {
  const std::string folder = directory + "/checkpoints";
  char name[32];
  std::snprintf(name, sizeof name, "step-%012llu", static_cast<unsigned long long>(weights.steps));
  const std::string final_path = folder + '/' + name;
  const std::string making = folder + "/.tmp-" + name + '-' + std::to_string(getpid());
  std::error_code error;
  fs::create_directories(making, error);
  if (error) return Failed(making, "cannot be made", error.value());
  const std::string bytes = FormatWeightsFile(weights, /*published_only=*/false);
  Status status = WriteFileAtomically(making + "/weights.safetensors",
                                      std::as_bytes(std::span(bytes.data(), bytes.size())));
  if (status.ok()) status = SyncFolder(making);
  if (status.ok() && fs::exists(final_path, error)) fs::remove_all(final_path, error);
  if (status.ok()) status = Rename(making, final_path);
  if (!status.ok()) {
    fs::remove_all(making, error);
    return status;
  }
  if (status = SyncFolder(folder); !status.ok()) return status;
  if (status = PointLatestAt(folder, name); !status.ok()) return status;
  return final_path;
}

Result<WeightsFile> ReadLatestCheckpoint(const std::string& directory) {
  const std::string latest = directory + "/checkpoints/latest";
  std::error_code error;
  if (!fs::exists(latest + "/weights.safetensors", error))
    return InvalidData(latest +
                       "/weights.safetensors: no such file; a run writes it when it stops: let " +
                       directory + " finish, or name another run");
  return ReadWeightsFile(latest + "/weights.safetensors");
}

}  // namespace murmurate
