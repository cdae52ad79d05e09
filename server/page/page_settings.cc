#include "server/page/page_settings.h"

#include <charconv>

#include "server/schema/settings_keys.h"

namespace murmurate {
namespace {

Status Malformed(const std::string& text) {
  return InvalidArgument("got \"" + text +
                         "\", expected \"off\" or HOST:PORT; write for example listen = \"" +
                         kPageAddress + '"');
}

}  // namespace

const Keys<PageSettings>& PageKeys() {
  using namespace keys;
  using S = PageSettings;
  static const Keys<S> kKeys(
      "page",
      {{"listen", &S::listen,
        "the live page: HOST:PORT, the next free port is taken; \"off\"; usual: 127.0.0.1:7480 of "
        "serve, off of train",
        Example("\"127.0.0.1:7480\"")},
       {"control", &S::control, "the page may stop the run, set numbers and ask for checkpoints",
        Example("true")},
       {"hosts", &S::hosts, "further names that browsers may ask for the page by",
        Example("[\"trainer.example\"]")}});
  return kKeys;
}

std::string PageAddress::ToString() const {
  const bool six = host.find(':') != std::string::npos;
  return (six ? '[' + host + ']' : host) + ':' + std::to_string(port);
}

Result<PageAddress> ParsePageAddress(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return Malformed(text);
  PageAddress address{text.substr(0, colon), 0};
  if (address.host.front() == '[' && address.host.back() == ']' && address.host.size() > 2) {
    address.host = address.host.substr(1, address.host.size() - 2);
  } else if (address.host.find_first_of(":[]/ ") != std::string::npos) {
    return Malformed(text);
  }
  const std::string port = text.substr(colon + 1);
  if (port == "*") return address;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  const bool whole = error == std::errc() && end == port.data() + port.size();
  return whole && address.port > 0 && address.port < 65536 ? Result<PageAddress>(address)
                                                           : Malformed(text);
}

}  // namespace murmurate
