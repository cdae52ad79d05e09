// [page]: where it may listen, and the names it is asked for by.
#include <arpa/inet.h>

#include <algorithm>
#include <cctype>

#include "server/config/config_checks.h"
#include "server/ingest/ingest_settings.h"
#include "server/page/page_settings.h"
#include "server/schema/settings_keys.h"
#include "shared/transport/socket.h"

namespace murmurate {
namespace {

/// As a Host header has it without its port: a name, or a number without brackets.
bool IsHost(const std::string& text) {
  in6_addr number;
  const auto fits = [](unsigned char c) {
    return std::isalnum(c) || c == '-' || c == '.' || c == '_';
  };
  return inet_pton(AF_INET6, text.c_str(), &number) == 1 ||
         (!text.empty() && std::ranges::all_of(text, fits));
}

}  // namespace

Status CheckPage(const Config& config) {
  const PageSettings page = config.Read(PageKeys());
  const SectionView keys = PageKeys().View(config.entries());
  for (const std::string& host : page.hosts)
    if (!IsHost(host))
      return keys.Blame("hosts", "got \"" + host +
                                     "\", expected a name without scheme, port and path; write for "
                                     "example hosts = [\"trainer.example\"]");
  if (page.listen == "off" && page.control)
    return keys.Blame("control",
                      "got true, but listen = \"off\", so there is no page to steer by; take this "
                      "line out, or write listen = \"127.0.0.1:7480\"");
  if (page.listen.empty() || page.listen == "off") return {};
  const auto address = ParsePageAddress(page.listen);
  if (!address.ok()) return keys.Blame("listen", address.status());
  const bool here = IsLocalAddress("tcp://" + PageAddress{address->host, 1}.ToString());
  if (here || config.server().insecure) return {};
  return keys.Blame("listen", page.listen +
                                  " can be reached from other hosts, and the page asks for no "
                                  "password; listen on 127.0.0.1 behind a tunnel or a proxy, or "
                                  "accept that with --insecure");
}

}  // namespace murmurate
