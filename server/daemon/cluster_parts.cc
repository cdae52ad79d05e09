#include "server/daemon/cluster_parts.h"

#include <signal.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "server/operate/admin.h"
#include "server/operate/json_values.h"
#include "server/operate/run_directory.h"
#include "shared/model/safetensors.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
constexpr std::streamoff kTailBytes = 4096;

/// The last line of a file that holds something.
std::string LastLineOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return "";
  const std::streamoff size = file.tellg();
  file.seekg(std::max<std::streamoff>(0, size - kTailBytes));
  std::string line, last;
  while (std::getline(file, line))
    if (line.find_first_not_of(" \t\r") != line.npos) last = line;
  return last;
}

/// Of what the process printed and what it logged, the one that it wrote last.
std::string LastWords(const ClusterPart& part) {
  std::error_code no_log, no_output;
  const std::string log = part.folder + "/log.txt", output = part.output();
  const auto logged = fs::last_write_time(log, no_log);
  const auto printed = fs::last_write_time(output, no_output);
  const bool log_is_newer = !no_log && (no_output || logged > printed);
  const std::string newer = LastLineOf(log_is_newer ? log : output);
  return newer.empty() ? LastLineOf(log_is_newer ? output : log) : newer;
}

Json AddressesIn(const std::string& folder) {
  const auto text = ReadFile(folder + "/address.json", 1 << 16);
  const Json json = text.ok() ? Json::parse(*text, nullptr, false) : Json();
  return json.is_object() ? json : Json::object();
}

std::string TextAt(const Json& json, const char* key) {
  const auto found = json.find(key);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

const char* TextOf(PartLife life) {
  switch (life) {
    case PartLife::kElsewhere:
      return "elsewhere";
    case PartLife::kMissing:
      return "missing";
    case PartLife::kUp:
      return "up";
    case PartLife::kBusy:
      return "busy";
    case PartLife::kEnded:
      return "ended";
    case PartLife::kDied:
      break;
  }
  return "died";
}

PartState StateOf(const ClusterPart& part, int answer_ms) {
  PartState state;
  if (!part.here) {
    state.life = PartLife::kElsewhere;
    state.address = part.host;
    return state;
  }
  std::error_code error;
  state.pid = RunDirectory::HolderOf(part.folder);
  state.last_line = LastWords(part);
  const Json addresses = AddressesIn(part.folder);
  const Json listen = addresses.value("listen", Json::array());
  if (listen.is_array() && !listen.empty() && listen[0].is_string()) state.address = listen[0];
  if (state.pid == 0) {
    const bool died = fs::exists(part.folder + "/lock", error);
    const bool was = fs::exists(part.folder + "/config.toml", error);
    state.life = died ? PartLife::kDied : was ? PartLife::kEnded : PartLife::kMissing;
    if (state.life == PartLife::kMissing && !state.last_line.empty()) state.life = PartLife::kDied;
    state.address.clear();
    return state;
  }
  state.life = PartLife::kBusy;
  const std::string admin = TextAt(addresses, "admin");
  if (answer_ms == 0 || admin.empty() || addresses.value("pid", 0) != state.pid) return state;
  auto answer = AskAdmin(admin, "status", answer_ms);
  if (!answer.ok()) return state;
  state.answer = *std::move(answer);
  state.life = PartLife::kUp;
  return state;
}

void AskToEnd(const ClusterPart& part, const PartState& state) {
  const std::string admin = TextAt(AddressesIn(part.folder), "admin");
  if (state.life == PartLife::kUp && AskAdmin(admin, "stop", 2000).ok()) return;
  if (state.pid > 0) kill(state.pid, SIGTERM);
}

PartNumbers NumbersOf(const PartState& state) {
  PartNumbers numbers;
  const Json report = Json::parse(state.answer, nullptr, false);
  if (!report.is_object()) return numbers;
  const Json models = report.value("models", Json::array());
  if (!models.is_array() || models.empty()) return numbers;
  const auto count = [&](const char* key) -> std::optional<std::uint64_t> {
    const MetricValue value = ValueAt(models[0], key);
    return value.empty() ? std::nullopt : std::optional(value.count());
  };
  numbers.steps = count("learned_steps");
  numbers.version = count("version");
  numbers.workers = count("workers");
  numbers.rate = ValueAt(models[0], "steps_per_second").number();
  numbers.staleness = ValueAt(models[0], "exchange_staleness").number();
  return numbers;
}

}  // namespace murmurate
