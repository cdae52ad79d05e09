#include "shared/weights/weight_transfers.h"

#include "tests/weights/sample_weights.h"

namespace murmurate {
namespace {

constexpr std::size_t kFloatsPerChunk = wire::kChunkBytes / sizeof(float);
const ModelKey kKey = {1};

PayloadPointer Payload(std::uint64_t version, std::size_t chunks) {
  auto payload = std::make_shared<PublishedPayload>();
  payload->version = version;
  payload->payload = AlignedFloats(chunks * kFloatsPerChunk);
  return payload;
}

wire::Pull PullOf(std::uint64_t version, std::size_t chunk, std::uint32_t credit) {
  return {kKey, version, chunk * wire::kChunkBytes, credit};
}

/// Sends everything that may be sent: the versions of the chunks, in order.
std::vector<std::uint64_t> SendAll(WeightTransfers& transfers) {
  std::vector<std::uint64_t> sent;
  std::optional<WeightTransfers::Key> last;
  while (auto* entry = transfers.NextSendable(last)) {
    last = entry->first;
    sent.push_back(entry->second.payload->version);
    entry->second.next += wire::kChunkBytes;
  }
  return sent;
}

using Versions = std::vector<std::uint64_t>;

TEST(WeightTransfers, NoMoreChunksThanCredit) {
  WeightTransfers transfers;
  const PayloadPointer newest = Payload(1, 5);
  EXPECT_EQ(transfers.OnPull("a", PullOf(0, 0, 2), newest, 0), "");
  EXPECT_EQ(SendAll(transfers), (Versions{1, 1}));
  EXPECT_EQ(transfers.OnPull("a", PullOf(1, 1, 2), newest, 0), "");
  EXPECT_EQ(SendAll(transfers), (Versions{1})) << "the window is chunks 1 and 2; 1 was sent";
  EXPECT_EQ(transfers.OnPull("a", PullOf(1, 3, 10), newest, 0), "");
  EXPECT_EQ(SendAll(transfers), (Versions{1, 1})) << "the payload ends before the credit";
}

TEST(WeightTransfers, VersionInTransferIsFinishedWhenNewerOnesAppear) {
  WeightTransfers transfers;
  PayloadPointer newest = Payload(1, 3);
  EXPECT_EQ(transfers.OnPull("a", PullOf(0, 0, 1), newest, 0), "");
  EXPECT_EQ(SendAll(transfers), (Versions{1}));
  for (std::uint64_t version = 2; version < 10; ++version) {
    newest = Payload(version, 3);
    transfers.OnPublished(kKey, newest);
  }
  EXPECT_EQ(transfers.OnPull("a", PullOf(1, 1, 2), newest, 0), "");
  EXPECT_EQ(SendAll(transfers), (Versions{1, 1}));
}

TEST(WeightTransfers, AtMostThreeOlderVersionsAreKept) {
  WeightTransfers transfers;
  std::vector<std::weak_ptr<const PublishedPayload>> all;
  for (std::uint64_t version = 1; version <= 6; ++version) {
    const PayloadPointer newest = Payload(version, 3);
    transfers.OnPublished(kKey, newest);
    all.push_back(newest);
    EXPECT_EQ(transfers.OnPull(std::to_string(version), PullOf(0, 0, 1), newest, 0), "");
  }
  for (int version = 1; version <= 6; ++version) {
    EXPECT_EQ(all[version - 1].expired(), version <= 2) << version;
  }
}

TEST(WeightTransfers, ThePlayerOfADroppedVersionBeginsAgainWithANewerOne) {
  WeightTransfers transfers;
  EXPECT_EQ(transfers.OnPull("slow", PullOf(0, 0, 1), Payload(1, 3), 0), "");
  EXPECT_EQ(SendAll(transfers), (Versions{1}));
  for (std::uint64_t version = 2; version <= 5; ++version) {
    const PayloadPointer newest = Payload(version, 3);
    transfers.OnPublished(kKey, newest);
    EXPECT_EQ(transfers.OnPull(std::to_string(version), PullOf(0, 0, 1), newest, 0), "");
  }
  EXPECT_EQ(transfers.OnPull("slow", PullOf(1, 1, 3), Payload(5, 3), 0), "");
  const Versions sent = SendAll(transfers);
  EXPECT_EQ(std::count(sent.begin(), sent.end(), 1), 0);
  EXPECT_GE(std::count(sent.begin(), sent.end(), 5), 3);
}

TEST(WeightTransfers, PlayersTakeTurns) {
  WeightTransfers transfers;
  EXPECT_EQ(transfers.OnPull("a", PullOf(0, 0, 2), Payload(1, 2), 0), "");
  EXPECT_EQ(transfers.OnPull("b", PullOf(0, 0, 2), Payload(2, 2), 0), "");
  EXPECT_EQ(SendAll(transfers), (Versions{1, 2, 1, 2}));
}

TEST(WeightTransfers, OffsetsThatNoChunkHasAreRefused) {
  WeightTransfers transfers;
  const PayloadPointer newest = Payload(1, 2);
  for (const std::uint64_t offset : {std::uint64_t{1}, std::uint64_t{2 * wire::kChunkBytes},
                                     ~std::uint64_t{0}, std::uint64_t{1} << 63}) {
    EXPECT_NE(transfers.OnPull("a", {kKey, 1, offset, 2}, newest, 0), "");
  }
  EXPECT_FALSE(transfers.any_sendable());
}

TEST(WeightTransfers, SilentPlayersAreForgotten) {
  WeightTransfers transfers;
  EXPECT_EQ(transfers.OnPull("a", PullOf(0, 0, 1), Payload(1, 2), 0), "");
  transfers.Expire(10 * kNanosecondsPerSecond);
  EXPECT_TRUE(transfers.any_sendable());
  transfers.Expire(10 * kNanosecondsPerSecond + 1);
  EXPECT_FALSE(transfers.any_sendable());
}

}  // namespace
}  // namespace murmurate
