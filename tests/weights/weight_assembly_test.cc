#include "shared/weights/weight_assembly.h"

#include "shared/model/parameter_layout.h"
#include "shared/model/policy_and_value.h"
#include "shared/weights/network_subscriber.h"
#include "shared/weights/payload_hash.h"
#include "tests/weights/sample_weights.h"

namespace murmurate {
namespace {

using Outcome = WeightAssembly::Outcome;

/// The chunks a learner would send of one version.
struct Sent {
  explicit Sent(const ModelSpec& spec, std::uint64_t version) {
    const ParameterLayout layout(spec);
    bytes.resize(PayloadBytes(layout));
    WritePayload(layout, SampleSnapshot(spec, version), bytes);
    chunk.version = version;
    chunk.incarnation = 5;
    chunk.total_bytes = bytes.size();
    chunk.hash = PayloadHash(bytes);
  }
  std::span<const std::byte> Block(std::size_t i) const {
    const std::size_t at = i * wire::kChunkBytes;
    return std::span(bytes).subspan(at, std::min(wire::kChunkBytes, bytes.size() - at));
  }
  wire::Chunk Chunk(std::size_t i) const {
    wire::Chunk made = chunk;
    made.offset = i * wire::kChunkBytes;
    return made;
  }
  std::size_t count() const { return (bytes.size() + wire::kChunkBytes - 1) / wire::kChunkBytes; }

  std::vector<std::byte> bytes;
  wire::Chunk chunk;
};

PolicyAndValue TwoChunkSpec() {
  PolicyAndValue spec = SmallSpec();
  spec.trunk = {{256, Activation::kTanh}, {256, Activation::kTanh}};
  return spec;
}

class Assembly : public testing::Test {
 protected:
  /// As mmr-client does it: what is accepted goes to the reader.
  Outcome Add(const Sent& sent, std::size_t i, std::uint64_t have = 0) {
    const wire::Chunk chunk = sent.Chunk(i);
    const Outcome outcome = assembly_.Add(chunk, sent.Block(i).size(), have);
    if (outcome == Outcome::kNext || outcome == Outcome::kLast) {
      reader_.Deliver({{chunk.incarnation, chunk.version},
                       chunk.hash,
                       i == 0,
                       outcome == Outcome::kLast,
                       Frame(sent.Block(i))});
    }
    return outcome;
  }
  bool Receives() { return reader_.ReceiveNewer(got_.stamp, &got_); }
  const PolicyAndValue spec_ = TwoChunkSpec();
  const Sent one_{spec_, 1}, two_{spec_, 2};
  WeightAssembly assembly_{spec_};
  NetworkSubscriber reader_{spec_};
  ReceivedWeights got_;
};

TEST_F(Assembly, ChunksInOrderMakeAWholeVersion) {
  ASSERT_EQ(one_.count(), 2u);
  EXPECT_EQ(Add(one_, 0), Outcome::kNext);
  EXPECT_EQ(Add(one_, 1), Outcome::kLast);
  ASSERT_TRUE(Receives());
  EXPECT_TRUE(IsWhole(spec_, got_));
  EXPECT_EQ(got_.stamp, (VersionStamp{5, 1}));
}

TEST_F(Assembly, ChunksOfTwoVersionsAreNeverMixed) {
  EXPECT_EQ(Add(one_, 0), Outcome::kNext);
  EXPECT_EQ(Add(two_, 1), Outcome::kRefused);
  EXPECT_EQ(Add(one_, 1), Outcome::kLast) << "the version in transfer is finished";
}

TEST_F(Assembly, AnotherVersionFromItsStartReplacesTheOneBegun) {
  EXPECT_EQ(Add(one_, 0), Outcome::kNext);
  EXPECT_EQ(Add(two_, 0), Outcome::kNext);
  EXPECT_EQ(Add(one_, 1), Outcome::kRefused);
  EXPECT_FALSE(Receives()) << "half of one, half of two";
  EXPECT_EQ(Add(two_, 1), Outcome::kLast);
  ASSERT_TRUE(Receives());
  EXPECT_EQ(got_.stamp.version, 2u);
  EXPECT_TRUE(IsWhole(spec_, got_));
}

TEST_F(Assembly, ChunkThatWasSkippedOrRepeatedIsRefused) {
  EXPECT_EQ(Add(one_, 1), Outcome::kRefused);
  EXPECT_EQ(Add(one_, 0), Outcome::kNext);
  EXPECT_EQ(Add(one_, 0), Outcome::kRefused);
  EXPECT_EQ(Add(one_, 1), Outcome::kLast);
}

TEST_F(Assembly, WrongHashIsRefusedAndTheNextTransferIsFine) {
  Sent damaged = one_;
  damaged.bytes[1000] ^= std::byte{1};
  EXPECT_EQ(Add(damaged, 0), Outcome::kNext);
  EXPECT_EQ(Add(damaged, 1), Outcome::kLast);
  EXPECT_FALSE(Receives());
  EXPECT_EQ(reader_.PopDamaged(), 1u);
  EXPECT_EQ(Add(one_, 0), Outcome::kNext);
  EXPECT_EQ(Add(one_, 1), Outcome::kLast);
  EXPECT_TRUE(Receives());
  EXPECT_EQ(reader_.PopDamaged(), 0u);
  EXPECT_TRUE(IsWhole(spec_, got_));
}

TEST_F(Assembly, ChunksAreTakenAsTheyCome) {
  EXPECT_EQ(Add(one_, 0), Outcome::kNext);
  EXPECT_FALSE(Receives());
  EXPECT_EQ(got_.coming.size(), (wire::kChunkBytes - 64) / sizeof(float));
  EXPECT_EQ(Add(one_, 1), Outcome::kLast);
  EXPECT_TRUE(Receives());
  EXPECT_TRUE(IsWhole(spec_, got_));
}

TEST_F(Assembly, WhoTakesSeldomFindsTheNewestWholeVersionAndNoneBefore) {
  for (const std::size_t i : {0, 1}) Add(one_, i);
  for (const std::size_t i : {0, 1}) Add(two_, i);
  EXPECT_TRUE(reader_.MayAskForMore()) << "it takes seldom: it is not waited for";
  const Sent three(spec_, 3);
  EXPECT_EQ(Add(three, 0), Outcome::kNext);
  ASSERT_TRUE(Receives());
  EXPECT_EQ(got_.stamp.version, 2u);
  EXPECT_TRUE(IsWhole(spec_, got_));
  EXPECT_EQ(got_.coming.size(), (wire::kChunkBytes - 64) / sizeof(float)) << "the third's first";
  EXPECT_EQ(Add(three, 1), Outcome::kLast);
  ASSERT_TRUE(Receives());
  EXPECT_EQ(got_.stamp.version, 3u);
  EXPECT_TRUE(IsWhole(spec_, got_));
}

TEST_F(Assembly, NoMoreIsAskedForThanAFewChunksAheadOfWhoTakesThem) {
  int room = 0;
  NetworkSubscriber reader(spec_, [&] { ++room; });
  EXPECT_TRUE(reader.MayAskForMore());
  for (int i = 0; i < 5; ++i) reader.Deliver({{5, 1}, 0, i == 0, false, Frame(one_.Block(1))});
  EXPECT_FALSE(reader.MayAskForMore());
  EXPECT_EQ(room, 0);
  EXPECT_FALSE(reader.ReceiveNewer({}, &got_));
  EXPECT_EQ(room, 1) << "said once";
  EXPECT_TRUE(reader.MayAskForMore());
}

TEST_F(Assembly, AVersionThatBeganElsewhereIsFetchedAgain) {
  struct Deaf : ReceivedWeights {
    bool End(const VersionStamp&, const ActSettings&) override { return false; }
  } deaf;
  EXPECT_EQ(Add(one_, 0), Outcome::kNext);
  EXPECT_EQ(Add(one_, 1), Outcome::kLast);
  EXPECT_FALSE(reader_.ReceiveNewer({}, &deaf));
  EXPECT_TRUE(reader_.PopLost());
}

TEST_F(Assembly, WrongTotalIsRefused) {
  for (const std::uint64_t total : {std::uint64_t{0}, one_.chunk.total_bytes - 1,
                                    one_.chunk.total_bytes + 1, std::uint64_t{1} << 62}) {
    wire::Chunk chunk = one_.Chunk(0);
    chunk.total_bytes = total;
    EXPECT_EQ(assembly_.Add(chunk, one_.Block(0).size(), 0), Outcome::kRefused);
  }
}

TEST_F(Assembly, WrongBlockSizeIsRefused) {
  EXPECT_EQ(assembly_.Add(one_.Chunk(0), 100, 0), Outcome::kRefused);
  EXPECT_EQ(assembly_.Add(one_.Chunk(0), 0, 0), Outcome::kRefused);
  EXPECT_EQ(assembly_.Add(one_.Chunk(0), one_.bytes.size(), 0), Outcome::kRefused);
}

TEST_F(Assembly, VersionNotNewerThanWhatIsHadIsOld) {
  EXPECT_EQ(Add(one_, 0, 1), Outcome::kOld);
  EXPECT_EQ(Add(one_, 0, 2), Outcome::kOld);
  EXPECT_EQ(Add(two_, 0, 1), Outcome::kNext);
}

TEST_F(Assembly, PayloadWithAForeignPreambleIsRefusedDespiteItsHash) {
  Sent foreign = one_;
  foreign.bytes[0] ^= std::byte{1};
  foreign.chunk.hash = PayloadHash(foreign.bytes);
  EXPECT_EQ(Add(foreign, 0), Outcome::kNext);
  EXPECT_EQ(Add(foreign, 1), Outcome::kLast);
  EXPECT_FALSE(Receives());
  EXPECT_EQ(reader_.PopDamaged(), 1u);
}

TEST_F(Assembly, AbortedTransferDoesNotGoOn) {
  EXPECT_EQ(Add(one_, 0), Outcome::kNext);
  assembly_.Abort();
  EXPECT_EQ(Add(one_, 1), Outcome::kRefused);
}

}  // namespace
}  // namespace murmurate
