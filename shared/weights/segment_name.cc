#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "shared/core/sha256.h"
#include "shared/weights/shared_memory_weights.h"

namespace murmurate {
namespace {

/// `text` if it is short and plain, else what is plain of it and a hash that keeps it apart.
std::string Plain(const std::string& text) {
  constexpr std::size_t kLongest = 64, kKept = 40, kHash = 16;
  std::string plain;
  for (const char c : text) {
    const bool good = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                      c == '.' || c == '_' || c == '-';
    plain += good ? c : '_';
  }
  if (plain == text && text.size() <= kLongest) return plain;
  return plain.substr(0, kKept) + "-" + ToHex(Sha256(text)).substr(0, kHash);
}

}  // namespace

std::string SegmentName(const std::string& run, const std::string& model,
                        std::uint64_t incarnation) {
  std::array<char, 17> hex;
  std::snprintf(hex.data(), hex.size(), "%016llx", static_cast<unsigned long long>(incarnation));
  return "/murmurate-" + std::to_string(geteuid()) + "-" + Plain(run) + "-" + Plain(model) + "-" +
         hex.data();
}

}  // namespace murmurate
