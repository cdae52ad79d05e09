// The floor plan is a test: every #include of the tree is read, and one that points up, sideways,
// or at a library its room must not know, fails with the place.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/source_file.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;

using Rooms = std::set<std::string>;

/// Room -> the rooms it may include (closed over what those may include, and always core and
/// itself).
const std::map<std::string, Rooms>& FloorPlan() {
  static const std::map<std::string, Rooms> kPlan = {
      {"shared/core", {}},
      {"schemas", {}},
      {"shared/model", {}},
      {"shared/trajectory", {"shared/model"}},
      {"shared/transport", {}},
      {"shared/compute", {}},
      {"shared/wire", {"schemas", "shared/model", "shared/trajectory"}},
      {"shared/inference", {"shared/model", "shared/compute"}},
      {"shared/weights", {"shared/model", "shared/wire", "shared/transport"}},
      {"client",
       {"shared/model", "shared/trajectory", "shared/transport", "shared/wire", "shared/weights",
        "shared/inference"}},
      {"client/environments", {"client", "shared/model"}},
      {"server/metrics", {"shared/model"}},
      {"server/process", {}},
      {"server/compute", {"shared/compute"}},
      {"server/compute/device", {}},
      {"server/network", {"shared/model", "shared/inference", "server/compute"}},
      {"server/exchange", {"server/metrics", "shared/model", "shared/inference"}},
      {"server/experience", {"shared/model", "shared/trajectory"}},
      {"server/session", {"server/metrics", "shared/wire"}},
      {"server/schema", {"shared/model", "shared/wire"}},
      {"server/data",
       {"server/metrics", "shared/model", "shared/inference", "server/schema",
        "server/experience"}},
      {"server/ingest",
       {"server/schema", "server/experience", "server/session", "shared/transport"}},
      {"server/collective", {}},
      {"server/parameters",
       {"server/metrics", "shared/model", "server/schema", "server/compute", "shared/wire",
        "shared/transport", "server/collective"}},
      {"server/parameters_abi", {"server/parameters", "client"}},
      {"server/learn",
       {"server/schema", "server/parameters", "server/network", "server/experience",
        "server/replay", "shared/weights"}},
      {"server/replay", {"server/metrics", "server/experience", "server/data", "shared/model"}},
      {"server/device", {"server/learn", "server/compute/device"}},
      {"server/operate",
       {"server/metrics", "server/schema", "server/experience", "shared/model", "shared/transport",
        "shared/wire"}},
      {"server/hooks", {"server/metrics", "server/process", "server/schema"}},
      {"server/pictures", {"client/environments", "shared/model"}},
      {"server/measure",
       {"server/learn", "server/replay", "server/ingest", "server/network", "server/compute",
        "client", "shared/model", "shared/inference", "shared/compute", "shared/weights",
        "shared/transport"}},
      {"server/stream",
       {"schemas", "server/schema", "server/learn", "server/session", "server/operate",
        "server/experience", "shared/inference", "shared/weights", "shared/transport"}},
      {"server/page", {"server/metrics", "server/schema", "server/operate", "shared/transport"}},
      {"server/top", {"server/metrics", "server/operate", "shared/transport"}},
      {"server/config",
       {"server/schema", "server/exchange", "server/data", "server/ingest", "server/device",
        "server/hooks", "server/learn", "server/operate", "server/page", "server/parameters",
        "server/stream", "client/environments"}},
      {"server/daemon", {"server/config", "server/ingest", "server/process", "client"}},
      {"server/command",
       {"server/daemon", "server/device", "server/measure", "server/pictures", "server/top",
        "shared/compute"}},
      {"server", {"server/command"}},
  };
  return kPlan;
}

/// Sockets are transport and wire: rooms that must never see them, whatever they reach through
/// others.
const Rooms& NoSockets() {
  static const Rooms kRooms = {"shared/model",      "shared/trajectory", "shared/compute",
                               "shared/inference",  "server/compute",    "server/network",
                               "server/experience", "server/replay",     "server/learn"};
  return kRooms;
}

/// Third-party includes and the only rooms that may have them.
const std::map<std::string, Rooms>& Libraries() {
  static const std::map<std::string, Rooms> kLibraries = {
      {"zmq.h", {"shared/transport"}},
      {"zmq.hpp", {"shared/transport"}},
      {"boost/", {"shared/transport"}},
      {"flatbuffers/", {"shared/wire"}},
      {"xxhash.h", {"shared/weights", "shared/wire", "server/data"}},
      {"hdf5.h", {"server/data"}},
      {"toml++/", {"server/schema"}},
      {"spdlog/", {"server/daemon"}},
      {"CLI/", {"server/command"}},
      {"nlohmann/",
       {"server/device", "server/hooks", "server/metrics", "server/operate", "server/page",
        "server/stream", "server/top", "server/daemon", "server/command"}},
      {"httplib.h", {"server/page"}},
      {"mosquitto.h", {"server/stream"}},
      {"mqtt_protocol.h", {"server/stream"}},
      {"mpi.h", {"server/collective"}},
      {"nccl.h", {"server/compute/device"}},
      {"cuda_runtime", {"server/compute/device"}},
      {"cublasLt.h", {"server/compute/device"}},
      {"cudnn", {"server/compute/device"}},
  };
  return kLibraries;
}

std::string RoomOf(const std::string& path) {
  std::string best;
  for (const auto& [room, uses] : FloorPlan()) {
    if (path.starts_with(room + "/") && room.size() > best.size()) best = room;
  }
  return best;
}

/// "murmurate/x.h" is a public header of whichever room keeps it.
std::string Resolve(const std::string& include) {
  if (!include.starts_with("murmurate/")) return include;
  for (const char* room : {"shared/core", "shared/model", "client"}) {
    const std::string path = std::string(room) + "/include/" + include;
    if (fs::exists(SourceFile(path))) return path;
  }
  return include;
}

Rooms Reachable(const std::string& room) {
  Rooms reached = {room, "shared/core"};
  std::vector<std::string> open = {room};
  while (!open.empty()) {
    const std::string next = open.back();
    open.pop_back();
    const auto found = FloorPlan().find(next);
    if (found == FloorPlan().end()) continue;
    for (const std::string& use : found->second) {
      if (reached.insert(use).second) open.push_back(use);
    }
  }
  return reached;
}

struct Include {
  std::string file, target;
  int line;
};

std::vector<Include> ReadIncludes() {
  static const std::regex kInclude(R"(^\s*#\s*include\s*[<"]([^>"]+)[>"])");
  std::vector<Include> includes;
  for (const char* top : {"shared", "client", "server", "schemas"}) {
    const fs::path folder = SourceFile(top);
    if (!fs::exists(folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      const std::string extension = entry.path().extension();
      if (extension != ".h" && extension != ".cc" && extension != ".cu" && extension != ".inc") {
        continue;
      }
      const std::string file = fs::relative(entry.path(), SourceFile(""));
      std::ifstream stream(entry.path());
      std::string text;
      for (int line = 1; std::getline(stream, text); ++line) {
        std::smatch match;
        if (std::regex_search(text, match, kInclude)) includes.push_back({file, match[1], line});
      }
    }
  }
  return includes;
}

TEST(FloorPlan, EveryFileLiesInARoom) {
  for (const Include& include : ReadIncludes()) {
    EXPECT_NE(RoomOf(include.file), "") << include.file << " lies in no room of the floor plan";
  }
}

TEST(FloorPlan, NoIncludePointsUp) {
  int checked = 0;
  for (const Include& include : ReadIncludes()) {
    const std::string room = RoomOf(include.file);
    const std::string target = RoomOf(Resolve(include.target));
    if (target.empty() || target == room) continue;
    ++checked;
    EXPECT_TRUE(Reachable(room).contains(target))
        << include.file << ":" << include.line << " includes " << include.target << ": " << room
        << " must not know " << target;
  }
  EXPECT_GT(checked, 50) << "the include reader found too little to be right";
}

TEST(FloorPlan, RoomsWithoutSocketsIncludeNone) {
  for (const Include& include : ReadIncludes()) {
    if (!NoSockets().contains(RoomOf(include.file))) continue;
    const std::string target = RoomOf(Resolve(include.target));
    EXPECT_TRUE(target != "shared/transport" && target != "shared/wire")
        << include.file << ":" << include.line << " must not know sockets";
  }
}

TEST(FloorPlan, EachLibraryIsIncludedInItsOwnRoomOnly) {
  for (const Include& include : ReadIncludes()) {
    for (const auto& [library, rooms] : Libraries()) {
      if (!include.target.starts_with(library)) continue;
      EXPECT_TRUE(rooms.contains(RoomOf(include.file)))
          << include.file << ":" << include.line << " includes " << include.target;
    }
  }
}

TEST(FloorPlan, PublicHeadersIncludeNoLibraryAndHaveNoIfdef) {
  int headers = 0;
  for (fs::recursive_directory_iterator entry(SourceFile("")), end; entry != end; ++entry) {
    const std::string path = entry->path().lexically_relative(SourceFile(""));
    if (path == "build") entry.disable_recursion_pending();  // whole machines may lie there
    if (path.find("/include/murmurate/") == std::string::npos) continue;
    ++headers;
    std::ifstream stream(entry->path());
    std::string text;
    for (int line = 1; std::getline(stream, text); ++line) {
      EXPECT_FALSE(text.starts_with("#if")) << path << ":" << line;
      if (text.starts_with("#include \"")) {
        EXPECT_TRUE(text.starts_with("#include \"murmurate")) << path << ":" << line;
      }
    }
  }
  EXPECT_GT(headers, 6);
}

}  // namespace
}  // namespace murmurate
