#include <new>

#include "shared/core/check.h"
#include "shared/core/clock.h"
#include "shared/model/parameter_layout.h"
#include "shared/weights/preamble.h"
#include "shared/weights/segment_layout.h"
#include "shared/weights/shared_memory_weights.h"

namespace murmurate {

struct SharedMemoryPublisher::State {
  SharedSegment segment;
  ParameterLayout layout;
  std::size_t stride = 0;

  SegmentHeader& header() { return *reinterpret_cast<SegmentHeader*>(segment.data()); }
  SlotHeader& slot(std::size_t index) {
    return *reinterpret_cast<SlotHeader*>(segment.data() + kSegmentHeaderBytes + index * stride);
  }
};

namespace {

void Announce(SegmentHeader& header) {
  // guard: Weights.WordChangesAndWaitersWakeWhenAVersionMayBeTaken: the word changes and wakes the
  //   readers
  header.word.fetch_add(1, std::memory_order_release);
  WakeAll(&header.word);
}

}  // namespace

Result<std::unique_ptr<SharedMemoryPublisher>> SharedMemoryPublisher::Create(
    const std::string& name, const ModelSpec& spec, std::uint64_t incarnation) {
  const ParameterLayout layout(spec);
  const std::size_t payload = PayloadBytes(layout);
  const std::size_t stride = sizeof(SlotHeader) + payload;
  const std::size_t total = kSegmentHeaderBytes + kSlotCount * stride;
  Result<SharedSegment> segment = SharedSegment::Create(name, total);
  if (!segment.ok()) return segment.status();
  auto state = std::make_unique<State>(State{*std::move(segment), layout, stride});
  auto* header = new (state->segment.data()) SegmentHeader;
  // guard: SharedMemory.SilentWriterThatLivesIsAliveAndItsSegmentIsNotSwept: the owner is recorded
  //   for the sweep of dead segments
  header->owner = ThisProcess();
  header->state.store(static_cast<std::uint32_t>(SegmentState::kMaking));
  header->magic = kSegmentMagic;
  header->layout_version = kSegmentLayoutVersion;
  header->header_bytes = kSegmentHeaderBytes;
  header->total_bytes = total;
  header->slot_count = kSlotCount;
  header->zero = 0;
  header->slot_stride = stride;
  header->payload_bytes = payload;
  header->spec_hash = spec.ShortHash();
  header->incarnation = incarnation;
  header->heartbeat_ns.store(MonotonicNs());
  header->latest.store(0);
  header->word.store(0);
  for (std::size_t i = 0; i < kSlotCount; ++i) new (&state->slot(i)) SlotHeader{0, 0, 0};
  header->state.store(static_cast<std::uint32_t>(SegmentState::kLive), std::memory_order_release);
  return std::unique_ptr<SharedMemoryPublisher>(new SharedMemoryPublisher(std::move(state)));
}

SharedMemoryPublisher::SharedMemoryPublisher(std::unique_ptr<State> state)
    : state_(std::move(state)) {}

SharedMemoryPublisher::~SharedMemoryPublisher() {
  SegmentHeader& header = state_->header();
  header.state.store(static_cast<std::uint32_t>(SegmentState::kClosing), std::memory_order_release);
  Announce(header);
}

Status SharedMemoryPublisher::Publish(const Snapshot& snapshot) {
  const ParameterLayout& layout = state_->layout;
  MURMURATE_CHECK(snapshot.parameters.size() == layout.total, "the snapshot has the layout's size");
  MURMURATE_CHECK(snapshot.version > 0 && snapshot.version < std::uint64_t{1} << 56,
                  "versions begin at 1 and leave 8 bits for the slot");
  SegmentHeader& header = state_->header();
  const std::uint64_t latest = header.latest.load(std::memory_order_relaxed);
  // guard: SharedMemoryRaces.WriterMarksItsSlotAndNeverTheOneReadersAreSentTo: the writer uses the
  //   slot after the newest one
  const std::uint64_t index = latest == 0 ? 0 : ((latest & 0xff) + 1) % kSlotCount;
  SlotHeader& slot = state_->slot(index);
  const std::uint64_t sequence = slot.sequence.load(std::memory_order_relaxed);
  // guard: SharedMemoryRaces.SlotHalfWrittenIsMarkedAtEveryInstant: the writer makes the sequence
  //   odd before it writes the first word
  slot.sequence.store(sequence + 1, std::memory_order_relaxed);

  const Preamble preamble = MakePreamble(layout, snapshot.act);
  std::byte* payload = reinterpret_cast<std::byte*>(&slot) + sizeof(SlotHeader);
  const float* parameters = snapshot.parameters.data();
  const std::size_t policy_bytes = layout.published.count * sizeof(float);
  StoreWords(payload, &preamble, sizeof(preamble));
  StoreWords(payload + sizeof(preamble), parameters + layout.published.offset, policy_bytes);
  StoreWords(payload + sizeof(preamble) + policy_bytes, parameters + layout.statistics.offset,
             layout.statistics.count * sizeof(float));
  slot.version.store(snapshot.version, std::memory_order_release);
  slot.bytes.store(PayloadBytes(layout), std::memory_order_release);

  // guard: SharedMemoryRaces.WriterMarksItsSlotAndNeverTheOneReadersAreSentTo: the sequence moves
  //   on with every version
  slot.sequence.store(sequence + 2, std::memory_order_release);
  header.latest.store(snapshot.version << 8 | index, std::memory_order_release);
  header.heartbeat_ns.store(MonotonicNs(), std::memory_order_relaxed);
  Announce(header);
  return Status();
}

void SharedMemoryPublisher::Heartbeat() {
  state_->header().heartbeat_ns.store(MonotonicNs(), std::memory_order_relaxed);
}

const std::string& SharedMemoryPublisher::name() const { return state_->segment.name(); }

int SweepDeadWeightSegments() { return SweepDeadSegments(kOwnerOffset); }

}  // namespace murmurate
