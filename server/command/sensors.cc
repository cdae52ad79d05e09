#include "server/command/sensors.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace murmurate {
namespace {

namespace fs = std::filesystem;

constexpr char kProgram[] = "murmurate-sensors";

}  // namespace

Status RunSensors(bool quiet, const std::vector<std::string>& arguments) {
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  const std::string program = (folder / kProgram).string();
  std::vector<std::string> words{program};
  if (quiet) words.push_back("--quiet");
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  execv(program.c_str(), pointers.data());
  const std::string why = std::strerror(errno);
  return ResourceError("the made-up fleet of sensors cannot be started: " + program + ": " + why +
                       "; it is a program of its own that belongs there, beside murmurate: build "
                       "or install both from the same sources");
}

}  // namespace murmurate
