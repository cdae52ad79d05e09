// [page]: where it may listen.
#include "server/config/config_checks.h"
#include "server/ingest/ingest_settings.h"
#include "server/page/page_settings.h"
#include "server/schema/settings_keys.h"
#include "shared/transport/socket.h"

namespace murmurate {

Status CheckPage(const Config& config) {
  const PageSettings page = config.Read(PageKeys());
  if (page.listen.empty() || page.listen == "off") return {};
  const SectionView keys = PageKeys().View(config.entries());
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
