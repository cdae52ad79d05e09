// Segments that are not what they seem, and what a subscriber says of its writer.
#include "shared/weights/shared_memory_weights.h"

#include <cstring>
#include <set>

#include "shared/core/random.h"
#include "shared/model/policy_and_value.h"
#include "tests/weights/segment_fixture.h"

namespace murmurate {
namespace {

TEST_F(SharedMemory, LatestThatNamesNoSlotIsIgnored) {
  const auto publisher = NewPublisher();
  const auto subscriber = NewSubscriber();
  Publish(*publisher, 1);
  Meddler meddler(name_);
  const std::size_t stride = meddler.header().slot_stride;
  std::byte* const beyond = meddler.data() + kSegmentHeaderBytes + kSlotCount * stride;
  ASSERT_LE(kSegmentHeaderBytes + (kSlotCount + 1) * stride, 8192u) << "inside the last page";
  std::memcpy(beyond, &meddler.slot(0), stride);  // it looks like a slot, but there are only three
  meddler.header().latest.store(1u << 8 | kSlotCount);
  EXPECT_FALSE(subscriber->ReceiveNewer({}, &got_));
}

TEST_F(SharedMemory, SlotOfAnotherSizeOrOfNoVersionIsIgnored) {
  const auto publisher = NewPublisher();
  const auto subscriber = NewSubscriber();
  Publish(*publisher, 1);
  Meddler meddler(name_);
  meddler.latest_slot().bytes -= 4;
  EXPECT_FALSE(subscriber->ReceiveNewer({}, &got_));
  meddler.latest_slot().bytes += 4;
  meddler.latest_slot().version = 0;
  EXPECT_FALSE(subscriber->ReceiveNewer({}, &got_));
  meddler.latest_slot().version = 1;
  EXPECT_TRUE(subscriber->ReceiveNewer({}, &got_));
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
  EXPECT_TRUE(subscriber->ReceiveNewer({}, &got_)) << "the last version can still be taken";
}

TEST_F(SharedMemory, OtherSpecOrIncarnationIsRefusedInWords) {
  const auto publisher = NewPublisher();
  PolicyAndValue other = spec_;
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
  name_ = "/mmr-cut-" + std::to_string(getpid());  // no name that a sweep looks at
  for (std::size_t size = 1; size < bytes.size(); size += size < 512 ? 31 : 509) {
    const int fd = shm_open(name_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ASSERT_GE(fd, 0);
    ASSERT_EQ(write(fd, bytes.data(), size), static_cast<ssize_t>(size));
    close(fd);
    const Status status = OpenStatus();
    EXPECT_FALSE(status.ok()) << size;
    const bool before_header = status.message().find("a header's bytes") != std::string::npos;
    EXPECT_EQ(before_header, size < kSegmentHeaderBytes) << size << ": " << status;
  }
  shm_unlink(name_.c_str());
}

TEST_F(SharedMemory, GarbageIsRefused) {
  name_ = "/mmr-garbage-" + std::to_string(getpid());
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
