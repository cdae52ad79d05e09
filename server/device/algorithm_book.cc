#include "server/device/algorithm_book.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <thread>
#include <utility>

#include "shared/model/files.h"
#include "shared/model/safetensors.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kMostBytes = std::size_t{16} << 20;

Result<AlgorithmBook::Choices> Parse(const std::string& text) {
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return InvalidData("it is no object of JSON");
  AlgorithmBook::Choices choices;
  for (const auto& [call, algorithm] : json.items()) {
    if (!algorithm.is_string()) return InvalidData("\"" + call + "\" is no text");
    choices[call] = algorithm.get<std::string>();
  }
  return choices;
}

Status Write(const std::string& file, const AlgorithmBook::Choices& choices) {
  const std::string text = nlohmann::json(choices).dump(1) + '\n';
  return WriteFileAtomically(file, std::as_bytes(std::span(text)));
}

/// Waits for another process for 2 s at the most.
bool Lock(int fd) {
  constexpr int kTries = 200;
  for (int i = 0; i < kTries && flock(fd, LOCK_EX | LOCK_NB) != 0; ++i) {
    if (i + 1 == kTries) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return true;
}

}  // namespace

std::string AlgorithmBook::UserFile() {
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  const char* const home = std::getenv("HOME");
  if (cache != nullptr && *cache == '/') return std::string(cache) + "/murmurate/plans.json";
  if (home == nullptr || *home != '/') return "";
  return std::string(home) + "/.cache/murmurate/plans.json";
}

void AlgorithmBook::Open(const std::string& run_file, const std::string& user_file,
                         LogCallback log) {
  const std::lock_guard lock(mutex_);
  run_file_ = run_file;
  user_file_ = user_file;
  log_ = std::move(log);
  run_ = Read(run_file);
  user_ = Read(user_file);
}

AlgorithmBook::Choices AlgorithmBook::Read(const std::string& file) {
  std::error_code error;
  if (file.empty() || !fs::exists(file, error)) return {};
  const auto text = ReadFile(file, kMostBytes);
  Result<Choices> choices = text.ok() ? Parse(*text) : Result<Choices>(text.status());
  if (choices.ok()) return *std::move(choices);
  if (log_)
    log_(LogLevel::kWarning, file + " is ignored: " + choices.status().message() +
                                 "; algorithms of the GPU's libraries are measured again");
  return {};
}

std::string AlgorithmBook::Find(const std::string& call) {
  const std::lock_guard lock(mutex_);
  if (const auto found = run_.find(call); found != run_.end()) return found->second;
  const auto found = user_.find(call);
  if (found == user_.end()) return "";
  KeepInRun(call, found->second);
  return found->second;
}

void AlgorithmBook::Keep(const std::string& call, const std::string& algorithm) {
  const std::lock_guard lock(mutex_);
  KeepInRun(call, algorithm);
  if (const Status added = AddToUsers(call, algorithm); !added.ok()) GiveUp(&user_file_, added);
}

void AlgorithmBook::KeepInRun(const std::string& call, const std::string& algorithm) {
  run_[call] = algorithm;
  if (run_file_.empty()) return;
  if (const Status written = Write(run_file_, run_); !written.ok()) GiveUp(&run_file_, written);
}

Status AlgorithmBook::AddToUsers(const std::string& call, const std::string& algorithm) {
  user_[call] = algorithm;
  if (user_file_.empty()) return {};
  std::error_code error;
  fs::create_directories(fs::path(user_file_).parent_path(), error);
  const std::string lock_file = user_file_ + ".lock";
  const Descriptor lock(open(lock_file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (lock.get() < 0 || !Lock(lock.get()))
    return ResourceError(FileSentence("lock", lock_file, errno));
  Choices all = Read(user_file_);
  all[call] = algorithm;
  user_.insert(all.begin(), all.end());
  return Write(user_file_, all);
}

void AlgorithmBook::GiveUp(std::string* file, const Status& why) {
  file->clear();
  if (log_)
    log_(LogLevel::kWarning, "algorithms of the GPU's libraries are not kept: " + why.message());
}

}  // namespace murmurate
