// The page of a learner that a test has started.
#pragma once

#include <httplib.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/server/process.h"

namespace murmurate {

using Json = nlohmann::json;

inline const std::string kIpc = "server.listen=[\"ipc\"]", kAnyPort = "page.listen=127.0.0.1:*";

/// What address.json of the run says of the page; "" while it is not there.
inline std::string PageOf(const Workplace& place, const std::string& run) {
  const auto json = Json::parse(place.Read("runs/" + run + "/address.json"), nullptr, false);
  return json.is_object() ? json.value("page", "") : "";
}

inline int PortOf(const std::string& url) {
  const std::size_t colon = url.rfind(':');
  return colon == std::string::npos ? 0 : std::atoi(url.c_str() + colon + 1);
}

/// The port of the page of a learner, once it is there.
inline int AwaitPage(const Workplace& place, const std::string& run) {
  std::string url;
  Eventually(20, [&] { return !(url = PageOf(place, run)).empty(); });
  return PortOf(url);
}

inline httplib::Client ClientOf(int port) {
  httplib::Client client("127.0.0.1", port);
  client.set_read_timeout(10);
  return client;
}

}  // namespace murmurate
