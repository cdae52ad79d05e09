// Writers and readers of one slot at the same time, and writers that die: nothing torn is ever
// taken.
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <thread>

#include "shared/core/random.h"
#include "shared/model/parameter_layout.h"
#include "shared/weights/preamble.h"
#include "tests/weights/segment_fixture.h"

namespace murmurate {
namespace {

using SharedMemoryRaces = SharedMemory;

TEST_F(SharedMemoryRaces, SlotThatIsBeingWrittenIsNotTaken) {
  const auto publisher = NewPublisher();
  const auto subscriber = NewSubscriber();
  Publish(*publisher, 1);
  Meddler meddler(name_);
  ++meddler.latest_slot().sequence;  // odd: a writer is inside
  EXPECT_FALSE(subscriber->ReceiveNewer({}, &got_));
  EXPECT_TRUE(got_.numbers.empty());
  ++meddler.latest_slot().sequence;
  EXPECT_TRUE(subscriber->ReceiveNewer({}, &got_));
  EXPECT_TRUE(IsWhole(spec_, got_));
}

TEST_F(SharedMemoryRaces, TornSlotLeavesWhatTheReaderHas) {
  const auto publisher = NewPublisher();
  const auto subscriber = NewSubscriber();
  Publish(*publisher, 1);
  ASSERT_TRUE(subscriber->ReceiveNewer({}, &got_));
  Publish(*publisher, 2);
  Meddler meddler(name_);
  ++meddler.latest_slot().sequence;
  EXPECT_FALSE(subscriber->ReceiveNewer(got_.stamp, &got_));
  EXPECT_EQ(got_.stamp.version, 1u);
  EXPECT_TRUE(IsWhole(spec_, got_));
}

// ThreadSanitizer knows an address only as its own mapping has it: here both sides share one.
TEST(SharedWords, MayBeReadWhileTheyAreWritten) {
  constexpr std::size_t kBytes = 4096;
  std::vector<std::uint64_t> shared(kBytes / 8), zeros(kBytes / 8), ones(kBytes / 8, ~0ull);
  auto* const at = reinterpret_cast<std::byte*>(shared.data());
  std::thread writer([&] {
    for (int i = 0; i < 1000; ++i) StoreWords(at, (i % 2 ? ones : zeros).data(), kBytes);
  });
  std::vector<std::uint64_t> copy(kBytes / 8);
  for (int i = 0; i < 1000; ++i) {
    LoadWords(copy.data(), at, kBytes);
    for (const std::uint64_t word : copy) ASSERT_TRUE(word == 0 || word == ~0ull);
  }
  writer.join();
}

/// Rewrites the slot that readers copy, again and again, as the writer's protocol says.
void RewriteLatestSlot(Meddler& meddler, const std::vector<std::vector<std::byte>>& payloads,
                       const std::atomic<bool>& stop) {
  SlotHeader& slot = meddler.latest_slot();
  const std::uint64_t index = meddler.header().latest.load() & 0xff;
  for (std::uint64_t version = 2; !stop.load(); ++version) {
    const std::vector<std::byte>& payload = payloads[version % payloads.size()];
    const std::uint64_t sequence = slot.sequence.load(std::memory_order_relaxed);
    slot.sequence.store(sequence + 1, std::memory_order_relaxed);
    StoreWords(Meddler::Payload(slot), payload.data(), payload.size());
    slot.version.store(version, std::memory_order_release);
    slot.sequence.store(sequence + 2, std::memory_order_release);
    meddler.header().latest.store(version << 8 | index, std::memory_order_release);
  }
}

TEST_F(SharedMemoryRaces, CopyThatOverlapsAWriteIsNeverTaken) {
  spec_.trunk = {{512, Activation::kTanh}, {256, Activation::kTanh}};  // 540 KB: takes a while
  const auto publisher = NewPublisher();
  const auto subscriber = NewSubscriber();
  Publish(*publisher, 1);
  Meddler meddler(name_);
  const ParameterLayout layout(spec_);
  std::vector<std::vector<std::byte>> payloads(2);  // of even and odd versions, told by temperature
  for (int i = 0; i < 2; ++i) {
    Snapshot snapshot = SampleSnapshot(spec_, static_cast<std::uint64_t>(i));
    snapshot.act.temperature = static_cast<float>(i + 1);
    payloads[i].resize(PayloadBytes(layout));
    WritePayload(layout, snapshot, payloads[i]);
  }
  std::atomic<bool> stop{false};
  std::thread writer([&] { RewriteLatestSlot(meddler, payloads, stop); });
  const std::int64_t end = MonotonicNs() + 300 * kNanosecondsPerMillisecond;
  int torn = 0;
  while (MonotonicNs() < end) {
    if (!subscriber->ReceiveNewer(got_.stamp, &got_) || got_.stamp.version < 2) continue;
    const std::uint64_t parity = got_.stamp.version % 2;
    if (got_.act.temperature != static_cast<float>(parity + 1)) ++torn;
    got_.stamp.version = parity;
    if (!IsWhole(spec_, got_)) ++torn;
  }
  stop = true;
  writer.join();
  EXPECT_EQ(torn, 0);
}

/// Calls a function in the midst of whatever this thread does: it needs no second core to meet a
/// copy half done. The function touches nothing but the segment.
class Interruptions {
 public:
  explicit Interruptions(void (*function)()) {
    function_ = function;
    count = 0;
    struct sigaction action = {};
    action.sa_handler = [](int) {
      function_();
      count = count + 1;
    };
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, &before_);
  }
  ~Interruptions() {
    Set(0);
    sigaction(SIGALRM, &before_, nullptr);
  }
  /// Once, 1 to 100 us from now: another delay each time.
  void Arm() { Set(1 + armed_++ * 7 % 100); }
  static inline volatile int count = 0;

 private:
  static void Set(int us) {
    const itimerval once = {{0, 0}, {0, us}};
    setitimer(ITIMER_REAL, &once, nullptr);
  }
  static inline void (*function_)() = nullptr;
  struct sigaction before_;
  int armed_ = 0;
};

/// What an interruption works on.
struct Interrupted {
  Meddler* meddler = nullptr;
  std::vector<std::vector<std::byte>> payloads;
  std::uint64_t version = 1;
  volatile int halves = 0;
};
Interrupted* interrupted = nullptr;

void RewriteOnce() {
  Meddler& meddler = *interrupted->meddler;
  SlotHeader& slot = meddler.latest_slot();
  const std::uint64_t index = meddler.header().latest.load() & 0xff;
  const std::uint64_t version = ++interrupted->version;
  const std::vector<std::byte>& payload = interrupted->payloads[version % 2];
  ++slot.sequence;
  StoreWords(Meddler::Payload(slot), payload.data(), payload.size());
  slot.version = version;
  ++slot.sequence;
  meddler.header().latest = version << 8 | index;
}

TEST_F(SharedMemoryRaces, CopyDuringWhichTheSlotWasRewrittenIsNeverTaken) {
  spec_.trunk = {{512, Activation::kTanh}, {256, Activation::kTanh}};
  const auto publisher = NewPublisher();
  const auto subscriber = NewSubscriber();
  Publish(*publisher, 1);
  Meddler meddler(name_);
  Interrupted state{&meddler, {}, 1, 0};
  for (std::uint64_t i = 0; i < 2; ++i) {
    state.payloads.emplace_back(PayloadBytes(ParameterLayout(spec_)));
    WritePayload(ParameterLayout(spec_), SampleSnapshot(spec_, i), state.payloads[i]);
  }
  interrupted = &state;
  int torn = 0, taken = 0;
  {
    Interruptions interruptions(RewriteOnce);
    EXPECT_TRUE(Eventually([&] {
      interruptions.Arm();
      if (subscriber->ReceiveNewer({}, &got_) && got_.stamp.version >= 2) {
        ++taken;
        got_.stamp.version %= 2;
        if (!IsWhole(spec_, got_)) ++torn;
      }
      return Interruptions::count >= 250 && taken >= 10;
    }));
  }
  EXPECT_EQ(torn, 0);
}

void CheckEvenSlots() {
  Meddler& meddler = *interrupted->meddler;
  for (std::size_t i = 0; i < kSlotCount; ++i) {
    SlotHeader& slot = meddler.slot(i);
    if (slot.version == 0 || slot.sequence % 2 != 0) continue;
    const auto* floats = reinterpret_cast<const float*>(Meddler::Payload(slot)) + 16;
    const std::size_t count = (meddler.header().payload_bytes - sizeof(Preamble)) / sizeof(float);
    for (std::size_t f = 1; f < count; ++f) {
      if (floats[f] != floats[0]) interrupted->halves = interrupted->halves + 1;
    }
    if (floats[0] != static_cast<float>(slot.version % 2)) interrupted->halves = 1;
  }
}

TEST_F(SharedMemoryRaces, SlotHalfWrittenIsMarkedAtEveryInstant) {
  spec_.trunk = {{128, Activation::kTanh}, {128, Activation::kTanh}};
  const auto publisher = NewPublisher();
  Meddler meddler(name_);
  Interrupted state{&meddler, {}, 1, 0};
  interrupted = &state;
  std::array<Snapshot, 2> snapshots = {SampleSnapshot(spec_, 2), SampleSnapshot(spec_, 1)};
  for (std::size_t i = 0; i < 2; ++i) {
    std::fill(snapshots[i].parameters.begin(), snapshots[i].parameters.end(),
              static_cast<float>(i));
  }
  {
    Interruptions interruptions(CheckEvenSlots);
    EXPECT_TRUE(Eventually([&] {
      interruptions.Arm();
      for (int i = 0; i < 20; ++i) {
        Snapshot& next = snapshots[++state.version % 2];
        next.version = state.version;
        EXPECT_TRUE(publisher->Publish(next).ok());
      }
      return Interruptions::count >= 150;
    }));
  }
  EXPECT_EQ(state.halves, 0);
}

TEST_F(SharedMemoryRaces, WriterMarksItsSlotAndNeverTheOneReadersAreSentTo) {
  const auto publisher = NewPublisher();
  Publish(*publisher, 1);
  Meddler meddler(name_);
  for (std::uint64_t version = 2; version <= 10; ++version) {
    SlotHeader& newest = meddler.latest_slot();
    const std::uint64_t newest_sequence = newest.sequence;
    std::array<std::uint64_t, kSlotCount> before;
    for (std::size_t i = 0; i < kSlotCount; ++i) before[i] = meddler.slot(i).sequence;
    Publish(*publisher, version);
    EXPECT_EQ(newest.sequence, newest_sequence) << "a reader may still be copying it";
    const std::uint64_t slot = meddler.header().latest & 0xff;
    EXPECT_EQ(meddler.slot(slot).sequence, before[slot] + 2);
    EXPECT_EQ(meddler.header().latest >> 8, version);
  }
}

/// A child process that publishes until it is killed.
pid_t ForkBusyWriter(const std::string& name, const ModelSpec& spec) {
  const pid_t child = fork();
  if (child != 0) return child;
  auto publisher = SharedMemoryPublisher::Create(name, spec, 5);
  if (!publisher.ok()) _exit(1);
  const Snapshot odd = SampleSnapshot(spec, 1), even = SampleSnapshot(spec, 2);
  while (true) {
    [[maybe_unused]] Status one = (*publisher)->Publish(odd);
    [[maybe_unused]] Status two = (*publisher)->Publish(even);
  }
}

std::unique_ptr<SharedMemorySubscriber> AwaitSegment(const std::string& name,
                                                     const ModelSpec& spec) {
  std::unique_ptr<SharedMemorySubscriber> subscriber;
  Eventually([&] {
    auto opened = SharedMemorySubscriber::Open(name, spec, 5);
    if (opened.ok()) subscriber = *std::move(opened);
    return subscriber != nullptr;
  });
  return subscriber;
}

TEST_F(SharedMemoryRaces, WriterKilledAtAnyInstantLeavesAWholeVersionOrNone) {
  spec_.trunk = {{256, Activation::kTanh}};
  Random random(11);
  for (int kill_count = 0; kill_count < 8; ++kill_count) {
    const std::string name = SegmentName(UniqueName("run"), "npc", 5);
    const pid_t child = ForkBusyWriter(name, spec_);
    ASSERT_GT(child, 0);
    const auto subscriber = AwaitSegment(name, spec_);
    ASSERT_NE(subscriber, nullptr);
    ReceivedWeights got;
    const std::uint32_t reads = random.UniformInt(200);
    for (std::uint32_t i = 0; i < reads; ++i) {
      EXPECT_TRUE(!subscriber->ReceiveNewer({}, &got) || IsWhole(spec_, got));
    }
    // Opened while the writer lives: afterwards a writer of any other test may sweep the name.
    Meddler meddler(name);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    EXPECT_TRUE(!subscriber->ReceiveNewer({}, &got) || IsWhole(spec_, got));
    meddler.header().heartbeat_ns = MonotonicNs() - 3 * kNanosecondsPerSecond;
    EXPECT_FALSE(subscriber->writer_alive());
    SweepDeadWeightSegments();
    EXPECT_FALSE(SegmentExists(name));
  }
}

}  // namespace
}  // namespace murmurate
