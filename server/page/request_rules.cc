#include "server/page/request_rules.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <random>
#include <utility>

namespace murmurate {
namespace {

std::string Small(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

/// "localhost" of "localhost:7480", "::1" of "[::1]:7480".
std::string NameOf(const std::string& host) {
  if (host.starts_with('[')) return host.substr(1, host.find(']') - 1);
  return host.substr(0, host.find(':'));
}

/// Takes the same time whatever the first difference is.
bool SameSecret(const std::string& one, const std::string& other) {
  if (one.size() != other.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < one.size(); ++i)
    difference |= static_cast<unsigned char>(one[i]) ^ static_cast<unsigned char>(other[i]);
  return difference == 0;
}

}  // namespace

RequestRules::RequestRules(const std::string& listening, const std::vector<std::string>& further,
                           std::string token)
    : hosts_{"localhost", "127.0.0.1", "::1", Small(listening)}, token_(std::move(token)) {
  for (const std::string& host : further) hosts_.push_back(Small(host));
}

bool RequestRules::IsOwnHost(const std::string& host) const {
  return std::ranges::find(hosts_, Small(NameOf(host))) != hosts_.end();
}

std::string RequestRules::WhyNoControl(const std::string& host, const std::string& origin,
                                       const std::string& token) const {
  if (!control()) return "the page only shows; set page.control = true to steer the run by it";
  if (!origin.empty() && origin != "http://" + host && origin != "https://" + host)
    return "the request comes from " + origin.substr(0, 100) + " and not from this page";
  if (!SameSecret(token, token_))
    return "the token is missing or wrong; open the address that serve has printed, with its token";
  return "";
}

std::string RandomToken() {
  constexpr std::array kDigits = {'0', '1', '2', '3', '4', '5', '6', '7',
                                  '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'};
  std::random_device device;  // of the kernel, on Linux
  std::string token;
  for (int i = 0; i < 4; ++i) {
    unsigned bits = device();
    for (int digit = 0; digit < 8; ++digit, bits >>= 4) token += kDigits[bits & 15];
  }
  return token;
}

}  // namespace murmurate
