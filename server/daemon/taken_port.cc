#include "server/daemon/taken_port.h"

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>

#include "server/operate/admin.h"
#include "shared/transport/socket.h"

namespace murmurate {
namespace {

constexpr int kAnswerMs = 500;
constexpr const char* kOrdinals[] = {"first", "second", "third"};

/// The number behind the last colon; 0: there is none.
int PortOf(const std::string& address) {
  if (!address.starts_with("tcp://")) return 0;
  return std::atoi(address.substr(address.rfind(':') + 1).c_str());
}

std::optional<PortHolder> Ask(const std::string& admin) {
  const auto answer = AskAdmin(admin, "status", kAnswerMs);
  if (!answer.ok()) return std::nullopt;
  const auto report = nlohmann::json::parse(*answer, nullptr, false);
  if (!report.is_object() || !report.contains("listen") || !report["listen"].is_array() ||
      report["listen"].empty() || !report["listen"].front().is_string())
    return std::nullopt;
  return PortHolder{report.value("directory", "?"), report.value("pid", 0),
                    report["listen"].front().get<std::string>()};
}

}  // namespace

std::string SharedPort(const std::string& listen, const PortHolder& holder) {
  const int ours = PortOf(listen), theirs = PortOf(holder.listen);
  if (ours == 0 || theirs == 0) return "";
  const std::string host = listen.substr(0, listen.rfind(':') + 1);
  for (int i = 0; i < 3; ++i)
    for (int k = 0; k < 3; ++k)
      if (ours + i == theirs + k)
        return host + std::to_string(ours + i) + ", the " + kOrdinals[i] +
               " of this learner's three ports, is the " + kOrdinals[k] + " of the three of " +
               holder.directory + " (process " + std::to_string(holder.pid) +
               "), which listens on " + holder.listen + "; stop that one, or choose for example " +
               host + std::to_string(theirs + 3) + " with server.listen";
  return "";
}

Status WithPortHolder(Status refused, const std::string& listen,
                      const std::string& runtime_folder) {
  for (const std::string& admin : OtherAdminAddresses(runtime_folder)) {
    const auto holder = Ask(admin);
    const std::string shared = holder ? SharedPort(listen, *holder) : "";
    if (!shared.empty()) return {refused.code(), shared};
  }
  return refused;
}

}  // namespace murmurate
