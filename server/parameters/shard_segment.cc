#include "server/parameters/shard_segment.h"

#include <unistd.h>

#include <new>
#include <utility>

#include "shared/core/check.h"
#include "shared/core/random.h"

namespace murmurate {
namespace {

constexpr std::uint64_t kMagic = 0x316863782d524d4d;  // "MMR-xch1"
constexpr std::size_t kHeaderBytes = 4096;
constexpr std::size_t kOwnerOffset = 64;  // as in segments of weights: one sweep finds both

struct Header {
  std::uint64_t magic = kMagic;
  std::uint64_t floats = 0;
  std::uint64_t places = 0;
  alignas(64) ProcessIdentity owner;
  alignas(64) std::atomic<std::uint64_t> turn;
};
static_assert(offsetof(Header, owner) == kOwnerOffset && sizeof(Header) <= kHeaderBytes);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

std::size_t Stride(std::size_t floats) {
  return (floats * sizeof(float) + kHeaderBytes - 1) / kHeaderBytes * kHeaderBytes;
}

std::size_t Bytes(std::size_t floats, std::uint64_t places) {
  return kHeaderBytes + (1 + places) * Stride(floats);
}

}  // namespace

Result<std::shared_ptr<ShardSegment>> ShardSegment::Create(std::size_t floats,
                                                           std::uint32_t places) {
  (void)SweepDeadSegments(kOwnerOffset);
  const std::string name = "/murmurate-" + std::to_string(geteuid()) + "-exchange-" +
                           std::to_string(getpid()) + '-' + std::to_string(RandomIdentity());
  auto segment = SharedSegment::Create(name, Bytes(floats, places));
  if (!segment.ok()) return segment.status();
  auto* const header = new (segment->data()) Header;
  header->floats = floats;
  header->places = places;
  header->owner = ThisProcess();
  return std::shared_ptr<ShardSegment>(new ShardSegment(*std::move(segment), floats, places));
}

Result<std::shared_ptr<ShardSegment>> ShardSegment::Open(const std::string& name,
                                                         std::size_t floats) {
  auto segment = SharedSegment::OpenReadWrite(name);
  if (!segment.ok()) return segment.status();
  const auto invalid = [&](const char* what) {
    return InvalidData("shared memory " + name + ' ' + what +
                       "; expected what a worker made for blocks of " + std::to_string(floats) +
                       " floats: use one build on both sides");
  };
  if (segment->size() < kHeaderBytes) return invalid("has no header");
  const auto* const header = reinterpret_cast<const Header*>(segment->data());
  const std::uint64_t places = header->places;
  if (header->magic != kMagic) return invalid("is something else");
  if (header->floats != floats) return invalid("has blocks of another size");
  if (places > UINT32_MAX || segment->size() / (Stride(floats) + 1) < places ||
      segment->size() < Bytes(floats, places))
    return invalid("is shorter than it says");
  return std::shared_ptr<ShardSegment>(
      new ShardSegment(*std::move(segment), floats, static_cast<std::uint32_t>(places)));
}

std::atomic<std::uint64_t>& ShardSegment::turn() {
  return reinterpret_cast<Header*>(segment_.data())->turn;
}

bool ShardSegment::OwnerIsAlive() const {
  return IsAlive(reinterpret_cast<const Header*>(segment_.data())->owner);
}

std::span<float> ShardSegment::At(std::size_t block) {
  MURMURATE_CHECK(block <= places_, "a place that the segment has");
  std::byte* const begin = segment_.data() + kHeaderBytes + block * Stride(floats_);
  return {reinterpret_cast<float*>(begin), floats_};
}

}  // namespace murmurate
