// What only the shared-memory path has: slots that are being written, writers that die, segments
// that are not what they seem.
#include "shared/weights/shared_memory_weights.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <atomic>
#include <cstring>
#include <set>
#include <thread>

#include "shared/core/random.h"
#include "shared/weights/preamble.h"
#include "shared/weights/segment_layout.h"
#include "tests/weights/sample_weights.h"

namespace murmurate {
namespace {

/// A segment through a second, writable mapping: what a test does to it by hand.
class Meddler {
 public:
  explicit Meddler(const std::string& name) {
    const int fd = shm_open(name.c_str(), O_RDWR | O_CLOEXEC, 0);
    EXPECT_GE(fd, 0) << name;
    size_ = static_cast<std::size_t>(lseek(fd, 0, SEEK_END));
    void* at = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    EXPECT_NE(at, MAP_FAILED);
    data_ = static_cast<std::byte*>(at);
    close(fd);
  }
  ~Meddler() { munmap(data_, size_); }
  Meddler(const Meddler&) = delete;
  Meddler& operator=(const Meddler&) = delete;

  SegmentHeader& header() { return *reinterpret_cast<SegmentHeader*>(data_); }
  SlotHeader& slot(std::size_t i) {
    return *reinterpret_cast<SlotHeader*>(data_ + kSegmentHeaderBytes + i * header().slot_stride);
  }
  SlotHeader& latest_slot() { return slot(header().latest.load() & 0xff); }
  static std::byte* Payload(SlotHeader& slot) {
    return reinterpret_cast<std::byte*>(&slot) + sizeof(SlotHeader);
  }
  std::byte* data() { return data_; }
  std::size_t size() const { return size_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

bool SegmentExists(const std::string& name) {
  const int fd = shm_open(name.c_str(), O_RDONLY | O_CLOEXEC, 0);
  if (fd >= 0) close(fd);
  return fd >= 0;
}

class SharedMemory : public testing::Test {
 protected:
  std::unique_ptr<SharedMemoryPublisher> NewPublisher() {
    name_ = SegmentName(UniqueName("run"), "npc", 5);
    auto made = SharedMemoryPublisher::Create(name_, spec_, 5);
    EXPECT_TRUE(made.ok()) << made.status();
    return *std::move(made);
  }
  std::unique_ptr<SharedMemorySubscriber> NewSubscriber() {
    auto opened = SharedMemorySubscriber::Open(name_, spec_, 5);
    EXPECT_TRUE(opened.ok()) << opened.status();
    return *std::move(opened);
  }
  Status OpenStatus() { return SharedMemorySubscriber::Open(name_, spec_, 5).status(); }
  void Publish(SharedMemoryPublisher& publisher, std::uint64_t version) {
    EXPECT_TRUE(publisher.Publish(SampleSnapshot(spec_, version)).ok());
  }
  ModelSpec spec_ = SmallSpec();
  std::string name_;
  ReceivedWeights got_;
};

TEST_F(SharedMemory, SlotThatIsBeingWrittenIsNotTaken) {
  const auto publisher = NewPublisher();
  const auto subscriber = NewSubscriber();
  Publish(*publisher, 1);
  Meddler meddler(name_);
  ++meddler.latest_slot().sequence;  // odd: a writer is inside
  EXPECT_FALSE(subscriber->TakeNewer({}, &got_));
  EXPECT_EQ(got_.payload.size(), 0u);
  ++meddler.latest_slot().sequence;
  EXPECT_TRUE(subscriber->TakeNewer({}, &got_));
  EXPECT_TRUE(IsWhole(spec_, got_));
}

TEST_F(SharedMemory, TornSlotLeavesWhatTheReaderHas) {
  const auto publisher = NewPublisher();
  const auto subscriber = NewSubscriber();
  Publish(*publisher, 1);
  ASSERT_TRUE(subscriber->TakeNewer({}, &got_));
  Publish(*publisher, 2);
  Meddler meddler(name_);
  ++meddler.latest_slot().sequence;
  EXPECT_FALSE(subscriber->TakeNewer(got_.stamp, &got_));
  EXPECT_EQ(got_.stamp.version, 1u);
  EXPECT_TRUE(IsWhole(spec_, got_));
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

TEST_F(SharedMemory, CopyThatOverlapsAWriteIsNeverTaken) {
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
    if (!subscriber->TakeNewer(got_.stamp, &got_) || got_.stamp.version < 2) continue;
    const std::uint64_t parity = got_.stamp.version % 2;
    if (got_.act.temperature != static_cast<float>(parity + 1)) ++torn;
    got_.stamp.version = parity;
    if (!IsWhole(spec_, got_)) ++torn;
  }
  stop = true;
  writer.join();
  EXPECT_EQ(torn, 0);
}

TEST_F(SharedMemory, LatestThatNamesNoSlotIsIgnored) {
  const auto publisher = NewPublisher();
  const auto subscriber = NewSubscriber();
  Publish(*publisher, 1);
  Meddler meddler(name_);
  meddler.header().latest.store(7u << 8 | 200);
  EXPECT_FALSE(subscriber->TakeNewer({}, &got_));
}

TEST_F(SharedMemory, SlotOfAnotherSizeOrOfNoVersionIsIgnored) {
  const auto publisher = NewPublisher();
  const auto subscriber = NewSubscriber();
  Publish(*publisher, 1);
  Meddler meddler(name_);
  meddler.latest_slot().bytes -= 4;
  EXPECT_FALSE(subscriber->TakeNewer({}, &got_));
  meddler.latest_slot().bytes += 4;
  meddler.latest_slot().version = 0;
  EXPECT_FALSE(subscriber->TakeNewer({}, &got_));
  meddler.latest_slot().version = 1;
  EXPECT_TRUE(subscriber->TakeNewer({}, &got_));
}

TEST_F(SharedMemory, WriterMarksItsSlotAndNeverTheOneReadersAreSentTo) {
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

TEST_F(SharedMemory, WriterKilledAtAnyInstantLeavesAWholeVersionOrNone) {
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
      EXPECT_TRUE(!subscriber->TakeNewer({}, &got) || IsWhole(spec_, got));
    }
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    EXPECT_TRUE(!subscriber->TakeNewer({}, &got) || IsWhole(spec_, got));
    Meddler(name).header().heartbeat_ns = MonotonicNs() - 3 * kNanosecondsPerSecond;
    EXPECT_FALSE(subscriber->writer_alive());
    SweepDeadWeightSegments();
    EXPECT_FALSE(SegmentExists(name));
  }
}

TEST_F(SharedMemory, SilentWriterThatLivesIsAliveAndItsSegmentIsNotSwept) {
  const auto publisher = NewPublisher();
  const auto subscriber = NewSubscriber();
  Meddler(name_).header().heartbeat_ns = MonotonicNs() - 60 * kNanosecondsPerSecond;
  EXPECT_TRUE(subscriber->writer_alive());
  SweepDeadWeightSegments();
  EXPECT_TRUE(SegmentExists(name_));
}

TEST_F(SharedMemory, HeartbeatAloneSpeaksForAWriterThatCannotBeLookedUp) {
  const auto publisher = NewPublisher();
  Meddler meddler(name_);
  ++meddler.header().owner.boot_hash;  // of another container
  const auto subscriber = NewSubscriber();
  meddler.header().heartbeat_ns = MonotonicNs() - 4 * kNanosecondsPerSecond;
  EXPECT_FALSE(subscriber->writer_alive());
  publisher->Heartbeat();
  EXPECT_TRUE(subscriber->writer_alive());
}

TEST_F(SharedMemory, ClosingWriterWakesItsReadersAndUnlinks) {
  auto publisher = NewPublisher();
  const auto subscriber = NewSubscriber();
  Publish(*publisher, 1);
  const std::uint32_t seen = subscriber->word()->load();
  publisher.reset();
  EXPECT_NE(subscriber->word()->load(), seen);
  EXPECT_FALSE(subscriber->writer_alive());
  EXPECT_FALSE(SegmentExists(name_));
  EXPECT_TRUE(subscriber->TakeNewer({}, &got_)) << "the last version can still be taken";
}

TEST_F(SharedMemory, OtherSpecOrIncarnationIsRefusedInWords) {
  const auto publisher = NewPublisher();
  ModelSpec other = spec_;
  other.trunk[0].activation = Activation::kRelu;  // the same sizes
  const Status spec = SharedMemorySubscriber::Open(name_, other, 5).status();
  EXPECT_NE(spec.message().find("spec"), std::string::npos) << spec;
  const Status incarnation = SharedMemorySubscriber::Open(name_, spec_, 6).status();
  EXPECT_NE(incarnation.message().find("expected 6, got 5"), std::string::npos) << incarnation;
}

TEST_F(SharedMemory, AnyWrongFieldOfTheHeaderIsRefused) {
  const auto publisher = NewPublisher();
  ASSERT_TRUE(OpenStatus().ok());
  Meddler meddler(name_);
  for (std::size_t byte = 0; byte < kOwnerOffset; ++byte) {
    if (byte >= offsetof(SegmentHeader, zero) && byte < offsetof(SegmentHeader, slot_stride)) {
      continue;
    }
    for (const std::byte flip : {std::byte{1}, std::byte{0x80}, std::byte{0xff}}) {
      meddler.data()[byte] ^= flip;
      const Status status = OpenStatus();
      EXPECT_FALSE(status.ok()) << byte;
      EXPECT_NE(status.message().find(name_), std::string::npos) << status;
      meddler.data()[byte] ^= flip;
    }
  }
  EXPECT_TRUE(OpenStatus().ok());
  meddler.header().state = static_cast<std::uint32_t>(SegmentState::kMaking);
  EXPECT_EQ(OpenStatus().code(), StatusCode::kUnavailable);
}

TEST_F(SharedMemory, TruncatedSegmentIsRefusedAtEverySize) {
  const auto publisher = NewPublisher();
  const Meddler whole(name_);
  const std::vector<std::byte> bytes(const_cast<Meddler&>(whole).data(),
                                     const_cast<Meddler&>(whole).data() + whole.size());
  name_ = SegmentName(UniqueName("cut"), "npc", 5);
  for (std::size_t size = 1; size < bytes.size(); size += size < 512 ? 31 : 509) {
    const int fd = shm_open(name_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ASSERT_GE(fd, 0);
    ASSERT_EQ(write(fd, bytes.data(), size), static_cast<ssize_t>(size));
    close(fd);
    EXPECT_FALSE(OpenStatus().ok()) << size;
  }
  shm_unlink(name_.c_str());
}

TEST_F(SharedMemory, GarbageIsRefused) {
  name_ = SegmentName(UniqueName("garbage"), "npc", 5);
  Random random(3);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::uint64_t> words(1024);
    for (std::uint64_t& word : words) word = random.Next();
    words[0] = kSegmentMagic;
    words[1] = std::uint64_t{kSegmentHeaderBytes} << 32 | kSegmentLayoutVersion;
    words[2] = 8192;
    words[16] = static_cast<std::uint64_t>(SegmentState::kLive);
    const int fd = shm_open(name_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ASSERT_EQ(write(fd, words.data(), 8192), 8192);
    close(fd);
    EXPECT_FALSE(OpenStatus().ok());
  }
  shm_unlink(name_.c_str());
  EXPECT_FALSE(OpenStatus().ok()) << "nothing there at all";
}

TEST(SegmentNames, AreDistinctPlainAndShortEnough) {
  const std::string user = "/murmurate-" + std::to_string(geteuid()) + "-";
  EXPECT_EQ(SegmentName("serve", "npc", 0xabc), user + "serve-npc-0000000000000abc");
  const std::string long_a(300, 'a');
  const std::set<std::string> names = {
      SegmentName("r", "m", 1),         SegmentName("r", "m", 2),  SegmentName("r", "n", 1),
      SegmentName("r/", "m", 1),        SegmentName("r_", "m", 1), SegmentName(long_a, "m", 1),
      SegmentName(long_a + "b", "m", 1)};
  EXPECT_EQ(names.size(), 7u);
  for (const std::string& name : names) {
    EXPECT_LT(name.size(), 250u);
    EXPECT_EQ(name.find('/', 1), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace murmurate
