#include <algorithm>
#include <optional>
#include <utility>

#include "shared/core/check.h"
#include "shared/core/clock.h"
#include "shared/model/parameter_layout.h"
#include "shared/weights/payload_reader.h"
#include "shared/weights/segment_layout.h"
#include "shared/weights/shared_memory_weights.h"

namespace murmurate {
namespace {

constexpr int kTries = 3;
constexpr std::size_t kBytesAtOnce = 1u << 20;
constexpr std::int64_t kSilentNs = 3 * kNanosecondsPerSecond;

/// The header's plain fields, read once: what is checked is what is used.
struct Facts {
  std::uint64_t magic = 0, total_bytes = 0, slot_stride = 0, payload_bytes = 0, spec_hash = 0,
                incarnation = 0;
  std::uint32_t layout_version = 0, header_bytes = 0, slot_count = 0;
};

Facts ReadFacts(const SegmentHeader& header) {
  return {header.magic,          header.total_bytes,  header.slot_stride,
          header.payload_bytes,  header.spec_hash,    header.incarnation,
          header.layout_version, header.header_bytes, header.slot_count};
}

Status Refuse(const std::string& name, const std::string& what, std::uint64_t expected,
              std::uint64_t got) {
  return InvalidData("weight segment " + name + ": " + what + ": expected " +
                     std::to_string(expected) + ", got " + std::to_string(got) +
                     "; the weights come over the network instead");
}

Status CheckFacts(const std::string& name, const Facts& facts, std::size_t mapped_bytes) {
  if (facts.magic != kSegmentMagic) return Refuse(name, "magic", kSegmentMagic, facts.magic);
  if (facts.layout_version != kSegmentLayoutVersion) {
    return Refuse(name, "layout version", kSegmentLayoutVersion, facts.layout_version);
  }
  if (facts.header_bytes != kSegmentHeaderBytes) {
    return Refuse(name, "header size", kSegmentHeaderBytes, facts.header_bytes);
  }
  if (facts.total_bytes != mapped_bytes) {
    return Refuse(name, "size of the segment", facts.total_bytes, mapped_bytes);
  }
  if (facts.slot_count < kSlotCount || facts.slot_count > kMaxSlotCount) {
    return Refuse(name, "slots", kSlotCount, facts.slot_count);
  }
  return Status();
}

Status CheckModel(const std::string& name, const Facts& facts, const ModelSpec& spec,
                  std::size_t payload, std::uint64_t incarnation) {
  if (facts.spec_hash != spec.ShortHash()) {
    return Refuse(name, "hash of the model's spec", spec.ShortHash(), facts.spec_hash);
  }
  if (facts.incarnation != incarnation) {
    return Refuse(name, "incarnation of the learner", incarnation, facts.incarnation);
  }
  if (facts.payload_bytes != payload) {
    return Refuse(name, "bytes of a version", payload, facts.payload_bytes);
  }
  if (facts.slot_stride != sizeof(SlotHeader) + payload) {
    return Refuse(name, "bytes of a slot", sizeof(SlotHeader) + payload, facts.slot_stride);
  }
  const std::uint64_t needed = kSegmentHeaderBytes + facts.slot_count * facts.slot_stride;
  if (facts.total_bytes < needed) return Refuse(name, "room", needed, facts.total_bytes);
  return Status();
}

}  // namespace

struct SharedMemorySubscriber::State {
  SharedSegment segment;
  Facts facts;
  ProcessIdentity owner;
  WeightsPayloadReader reader;

  const SegmentHeader& header() const {
    return *reinterpret_cast<const SegmentHeader*>(segment.data());
  }
  const SlotHeader& slot(std::size_t index) const {
    return *reinterpret_cast<const SlotHeader*>(segment.data() + kSegmentHeaderBytes +
                                                index * facts.slot_stride);
  }
  std::optional<std::uint64_t> CopySlot(const SlotHeader& slot, WeightSink* into);
};

/// The version of what was put into the sink, or nothing when the slot was written meanwhile. Pages
/// that were read are let go of on the way: they are the learner's, and would count as ours.
std::optional<std::uint64_t> SharedMemorySubscriber::State::CopySlot(const SlotHeader& slot,
                                                                     WeightSink* into) {
  const std::uint64_t sequence = slot.sequence.load(std::memory_order_acquire);
  // guard: SharedMemoryRaces.SlotThatIsBeingWrittenIsNotTaken,
  //   SharedMemoryRaces.TornSlotLeavesWhatTheReaderHas,
  //   SharedMemoryRaces.CopyThatOverlapsAWriteIsNeverTaken: an odd sequence means that a writer is
  //   inside
  if (sequence % 2 != 0) return std::nullopt;
  const std::uint64_t version = slot.version.load(std::memory_order_acquire);
  const std::uint64_t bytes = slot.bytes.load(std::memory_order_acquire);
  const std::byte* const payload = reinterpret_cast<const std::byte*>(&slot) + sizeof(SlotHeader);
  reader.Begin(into);
  for (std::size_t at = 0; at < facts.payload_bytes; at += kBytesAtOnce) {
    const std::size_t count = std::min(kBytesAtOnce, facts.payload_bytes - at);
    const std::byte* from = payload + at;
    reader.Consume(count, into, [&from](std::byte* to, std::size_t slice) {
      LoadWords(to, from, slice);
      from += slice;
    });
    segment.LetGo(kSegmentHeaderBytes);
  }
  // guard: SharedMemoryRaces.CopyDuringWhichTheSlotWasRewrittenIsNeverTaken: the sequence is read
  //   again after the copy
  if (slot.sequence.load(std::memory_order_relaxed) != sequence) return std::nullopt;
  // guard: SharedMemory.SlotOfAnotherSizeOrOfNoVersionIsIgnored: size and version of the slot are
  //   checked
  if (bytes != facts.payload_bytes || version == 0) return std::nullopt;
  return version;
}

Result<std::unique_ptr<SharedMemorySubscriber>> SharedMemorySubscriber::Open(
    const std::string& name, const ModelSpec& spec, std::uint64_t incarnation) {
  Result<SharedSegment> segment = SharedSegment::OpenReadOnly(name);
  if (!segment.ok()) return segment.status();
  if (segment->size() < kSegmentHeaderBytes) {
    return Refuse(name, "at least a header's bytes", kSegmentHeaderBytes, segment->size());
  }
  const auto& header = *reinterpret_cast<const SegmentHeader*>(segment->data());
  const auto state = static_cast<SegmentState>(header.state.load(std::memory_order_acquire));
  // guard: SharedMemory.AnyWrongFieldOfTheHeaderIsRefused: a segment that is being made or closed
  //   is not opened
  if (state != SegmentState::kLive) {
    return Unavailable("weight segment " + name +
                       " is being made or closed: try again, or take the network path");
  }
  const Facts facts = ReadFacts(header);
  const ParameterLayout layout(spec);
  // guard: SharedMemory.TruncatedSegmentIsRefusedAtEverySize,
  //   SharedMemory.AnyWrongFieldOfTheHeaderIsRefused,
  //   SharedMemory.OtherSpecOrIncarnationIsRefusedInWords: size, header, spec and incarnation are
  //   checked before use
  MURMURATE_RETURN_IF_ERROR(CheckFacts(name, facts, segment->size()));
  MURMURATE_RETURN_IF_ERROR(CheckModel(name, facts, spec, PayloadBytes(layout), incarnation));
  const ProcessIdentity owner = header.owner;
  auto made = std::make_unique<State>(
      State{*std::move(segment), facts, owner, WeightsPayloadReader(layout)});
  return std::unique_ptr<SharedMemorySubscriber>(new SharedMemorySubscriber(std::move(made)));
}

SharedMemorySubscriber::SharedMemorySubscriber(std::unique_ptr<State> state)
    : state_(std::move(state)) {}
SharedMemorySubscriber::~SharedMemorySubscriber() = default;

bool SharedMemorySubscriber::ReceiveNewer(const VersionStamp& known, WeightSink* into) {
  for (int attempt = 0; attempt < kTries; ++attempt) {
    const std::uint64_t latest = state_->header().latest.load(std::memory_order_acquire);
    const std::uint64_t index = latest & 0xff;
    // guard: SharedMemory.LatestThatNamesNoSlotIsIgnored: the slot that `latest` names exists
    if (latest == 0 || index >= state_->facts.slot_count) return false;
    if (known == VersionStamp{state_->facts.incarnation, latest >> 8}) return false;
    const std::optional<std::uint64_t> version = state_->CopySlot(state_->slot(index), into);
    // guard: SharedMemoryRaces.SlotThatIsBeingWrittenIsNotTaken,
    //   SharedMemoryRaces.TornSlotLeavesWhatTheReaderHas: a version is played only when all of it
    //   has come
    if (!version) continue;
    const Result<ActSettings> act = state_->reader.act();
    return act.ok() && into->End({state_->facts.incarnation, *version}, *act);
  }
  return false;
}

const FutexWord* SharedMemorySubscriber::word() const { return &state_->header().word; }

bool SharedMemorySubscriber::writer_alive() const {
  const SegmentHeader& header = state_->header();
  // guard: SharedMemory.ClosingWriterWakesItsReadersAndUnlinks: a writer that closes is reported as
  //   gone
  if (header.state.load(std::memory_order_acquire) !=
      static_cast<std::uint32_t>(SegmentState::kLive)) {
    return false;
  }
  // A writer of another container cannot be looked up by number: its heartbeat alone speaks for it.
  const std::int64_t age = MonotonicNs() - header.heartbeat_ns.load(std::memory_order_relaxed);
  // guard: SharedMemory.SilentWriterThatLivesIsAliveAndItsSegmentIsNotSwept,
  //   SharedMemory.HeartbeatAloneSpeaksForAWriterThatCannotBeLookedUp: a silent writer is looked
  //   up; one that cannot be is judged by its heartbeat
  return age < kSilentNs || IsAlive(state_->owner);
}

}  // namespace murmurate
