#include "server/data/page_advice.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

namespace murmurate {
namespace {

constexpr std::size_t kPieceBytes = 128 << 10;

std::span<const std::byte> WholePages(std::span<const std::byte> part) {
  static const std::size_t kPage = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t before = reinterpret_cast<std::uintptr_t>(part.data()) % kPage;
  return {part.data() - before, part.size() + before};
}

void Advise(std::span<const std::byte> part, int advice) {
  const std::span<const std::byte> pages = WholePages(part);
  (void)madvise(const_cast<std::byte*>(pages.data()), pages.size(), advice);
}

}  // namespace

void AdviseRandom(std::span<const std::byte> mapping) { Advise(mapping, MADV_RANDOM); }

/// As one, for large reads of the disk, of which some kernels leave out the end; then in pieces
/// that every kernel reads whole, if they are not there yet.
void BeginToRead(std::span<const std::byte> part) {
  Advise(part, MADV_WILLNEED);
  if (part.size() <= kPieceBytes) return;
  for (std::size_t at = 0; at < part.size(); at += kPieceBytes)
    Advise(part.subspan(at, std::min(kPieceBytes, part.size() - at)), MADV_WILLNEED);
}

}  // namespace murmurate
