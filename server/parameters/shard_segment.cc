#include "server/parameters/shard_segment.h"

#include <unistd.h>

#include <bit>
#include <new>
#include <utility>

#include "shared/core/check.h"
#include "shared/core/random.h"

namespace murmurate {
namespace {

constexpr std::uint64_t kMagic = 0x326863782d524d4d;  // "MMR-xch2"
constexpr std::size_t kHeaderBytes = 4096;
constexpr std::size_t kOwnerOffset = 64;  // as in segments of weights: one sweep finds both
constexpr auto kRelaxed = std::memory_order_relaxed;

using Word = std::atomic<std::uint64_t>;
static_assert(Word::is_always_lock_free);

std::size_t Stride(std::size_t floats) {
  return (floats * sizeof(float) + kHeaderBytes - 1) / kHeaderBytes * kHeaderBytes;
}

std::size_t Bytes(std::size_t floats, std::uint64_t slots) {
  return kHeaderBytes + slots * Stride(floats);
}

std::uint32_t LowHalf(std::uint64_t turn) { return static_cast<std::uint32_t>(turn); }

}  // namespace

struct ShardSegment::Header {
  std::uint64_t magic = kMagic, floats = 0, slots = 0;
  alignas(64) ProcessIdentity owner;
  struct alignas(128) Push {
    Word turn, step, pulled, rate, slot;
  } push;
  struct alignas(128) Answer {
    FutexWord word;
    Word turn, step, version, staleness, distance, merged, kept, slot;
  } answer;
  alignas(128) Word sleeps;
  std::uint64_t wakeup = 0;
};

ShardSegment::Header& ShardSegment::header() const {
  static_assert(offsetof(Header, owner) == kOwnerOffset && sizeof(Header) <= kHeaderBytes);
  return *reinterpret_cast<Header*>(segment_.data());
}

Result<std::shared_ptr<ShardSegment>> ShardSegment::Create(std::size_t floats, std::uint32_t slots,
                                                           std::uint64_t wakeup) {
  (void)SweepDeadSegments(kOwnerOffset);
  const std::string name = "/murmurate-" + std::to_string(geteuid()) + "-exchange-" +
                           std::to_string(getpid()) + '-' + std::to_string(RandomIdentity());
  auto segment = SharedSegment::Create(name, Bytes(floats, slots));
  if (!segment.ok()) return segment.status();
  auto* const header = new (segment->data()) Header;
  header->floats = floats;
  header->slots = slots;
  header->owner = ThisProcess();
  header->wakeup = wakeup;
  return std::shared_ptr<ShardSegment>(new ShardSegment(*std::move(segment), floats, slots));
}

Result<std::shared_ptr<ShardSegment>> ShardSegment::Open(const std::string& name,
                                                         std::size_t floats, Access access) {
  auto segment = access == Access::kRead ? SharedSegment::OpenReadOnly(name)
                                         : SharedSegment::OpenReadWrite(name);
  if (!segment.ok()) return segment.status();
  const auto invalid = [&](const char* what) {
    return InvalidData("shared memory " + name + ' ' + what +
                       "; expected what a worker or shard made for blocks of " +
                       std::to_string(floats) + " floats: use one build on both sides");
  };
  if (segment->size() < kHeaderBytes) return invalid("has no header");
  const auto* const header = reinterpret_cast<const Header*>(segment->data());
  const std::uint64_t slots = header->slots;
  if (header->magic != kMagic) return invalid("is something else");
  if (header->floats != floats) return invalid("has blocks of another size");
  if (slots > UINT32_MAX || segment->size() / (Stride(floats) + 1) < slots ||
      segment->size() < Bytes(floats, slots))
    return invalid("is shorter than it says");
  return std::shared_ptr<ShardSegment>(
      new ShardSegment(*std::move(segment), floats, static_cast<std::uint32_t>(slots)));
}

std::span<float> ShardSegment::slot(std::uint32_t number) {
  MURMURATE_CHECK(number >= 1 && number <= slots_, "a place that the segment has");
  std::byte* const begin = segment_.data() + kHeaderBytes + (number - 1) * Stride(floats_);
  return {reinterpret_cast<float*>(begin), floats_};
}

bool ShardSegment::OwnerIsAlive() const { return !segment_.IsAbandoned(kOwnerOffset); }

void ShardSegment::Put(const PushInSlot& placed) {
  Header::Push& box = header().push;
  box.turn.store(0, kRelaxed);
  box.step.store(placed.push.step, std::memory_order_release);
  box.pulled.store(placed.push.pulled, std::memory_order_release);
  box.rate.store(std::bit_cast<std::uint64_t>(placed.push.learning_rate),
                 std::memory_order_release);
  box.slot.store(placed.slot, std::memory_order_release);
  box.turn.store(placed.push.turn, std::memory_order_seq_cst);
}

std::optional<PushInSlot> ShardSegment::Pushed(std::uint64_t seen) const {
  const Header::Push& box = header().push;
  const std::uint64_t turn = box.turn.load(std::memory_order_seq_cst);
  if (turn <= seen) return std::nullopt;
  PushInSlot placed;
  placed.push.step = box.step.load(std::memory_order_acquire);
  placed.push.pulled = box.pulled.load(std::memory_order_acquire);
  placed.push.learning_rate = std::bit_cast<double>(box.rate.load(std::memory_order_acquire));
  placed.push.turn = turn;
  placed.slot = static_cast<std::uint32_t>(box.slot.load(std::memory_order_acquire));
  if (box.turn.load(std::memory_order_acquire) != turn) return std::nullopt;
  return placed;
}

std::uint64_t ShardSegment::turn() const {
  return header().push.turn.load(std::memory_order_seq_cst);
}

void ShardSegment::Answer(const CenterInSlot& placed, std::uint64_t turn) {
  Header::Answer& box = header().answer;
  box.turn.store(turn, kRelaxed);
  box.step.store(placed.center.step, kRelaxed);
  box.version.store(placed.center.version, kRelaxed);
  box.staleness.store(placed.center.staleness, kRelaxed);
  box.distance.store(std::bit_cast<std::uint64_t>(placed.center.distance), kRelaxed);
  box.merged.store(placed.center.merged ? 1 : 0, kRelaxed);
  box.kept.store(placed.center.kept, kRelaxed);
  box.slot.store(placed.slot, kRelaxed);
  box.word.store(LowHalf(turn), std::memory_order_release);
  WakeAll(&box.word);
}

std::optional<CenterInSlot> ShardSegment::Answered(std::uint64_t turn) const {
  const Header::Answer& box = header().answer;
  if (box.word.load(std::memory_order_acquire) != LowHalf(turn) || box.turn.load(kRelaxed) != turn)
    return std::nullopt;
  CenterInSlot placed;
  placed.center.step = box.step.load(kRelaxed);
  placed.center.version = box.version.load(kRelaxed);
  placed.center.staleness = box.staleness.load(kRelaxed);
  placed.center.distance = std::bit_cast<double>(box.distance.load(kRelaxed));
  placed.center.merged = box.merged.load(kRelaxed) != 0;
  placed.center.kept = box.kept.load(kRelaxed);
  placed.slot = static_cast<std::uint32_t>(box.slot.load(kRelaxed));
  return placed;
}

FutexWait ShardSegment::WaitForAnswer(std::uint64_t turn) const {
  const FutexWord& word = header().answer.word;
  const std::uint32_t now = word.load(std::memory_order_acquire);
  return {&word, now == LowHalf(turn) ? ~now : now};  // it is there: do not wait
}

std::uint64_t ShardSegment::wakeup() const { return header().wakeup; }
void ShardSegment::SetSleeps(bool sleeps) {
  header().sleeps.store(sleeps ? 1 : 0, std::memory_order_seq_cst);
}
bool ShardSegment::Sleeps() const { return header().sleeps.load(std::memory_order_seq_cst) != 0; }

}  // namespace murmurate
