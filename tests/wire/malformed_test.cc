// What the decoder does with everything that is nearly right. Run under ASan and UBSan these tests
// also show that nothing outside the input is read.
#include <flatbuffers/flatbuffers.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tests/wire/samples.h"

namespace murmurate::wire {
namespace {

/// Reads every number of a view; the sum keeps the compiler from leaving it out.
double Walk(const TrajectoryView& view) {
  double sum = 0;
  for (const auto& floats : {NumbersOf(view.observation), view.log_prob, view.reward,
                             NumbersOf(view.final_observation), NumbersOf(view.next_observation)}) {
    sum = std::accumulate(floats.begin(), floats.end(), sum);
  }
  sum = std::accumulate(view.action.begin(), view.action.end(), sum);
  sum = std::accumulate(view.flags.begin(), view.flags.end(), sum);
  for (const EpisodeRecord& episode : view.episodes) sum += episode.raw_return + episode.length;
  return sum;
}

/// Decodes and, if it is taken, goes through all that was taken. True when it was taken.
bool DecodeAndWalk(const WireMessage& message) {
  const auto result = message.Decode();
  if (const auto* failure = std::get_if<DecodeFailure>(&result)) {
    EXPECT_NE(failure->refusal, Refusal::kNone);
    EXPECT_FALSE(failure->sentence.empty());
    return false;
  }
  const Decoded& decoded = std::get<Decoded>(result);
  (void)Encode(decoded.body, 1, 1, decoded.block.size());
  if (const auto* experience = std::get_if<Experience>(&decoded.body)) {
    TrajectoryView view;
    volatile double sum = 0;
    if (ViewTrajectory(*experience, decoded.block, SampleLayout(), &view).ok()) sum = Walk(view);
    (void)sum;
  }
  return true;
}

TEST(Malformed, EverySingleFlippedBitIsRefusedOrReadable) {
  int taken = 0, refused = 0;
  for (const WireMessage& message : EveryMessage()) {
    for (std::size_t frame = 0; frame < message.frames.size(); ++frame) {
      for (std::size_t bit = 0; bit < message.frames[frame].size() * 8; ++bit) {
        WireMessage broken = message;
        broken.frames[frame][bit / 8] ^= static_cast<std::byte>(1 << (bit % 8));
        ++(DecodeAndWalk(broken) ? taken : refused);
      }
    }
  }
  EXPECT_GT(taken, 0);
  EXPECT_GT(refused, 5000);
}

TEST(Malformed, EveryTruncationIsRefused) {
  for (const WireMessage& message : EveryMessage()) {
    for (std::size_t frame = 0; frame < message.frames.size(); ++frame) {
      for (std::size_t size = 0; size < message.frames[frame].size(); ++size) {
        WireMessage broken = message;
        broken.frames[frame].resize(size);
        EXPECT_FALSE(DecodeAndWalk(broken)) << "frame " << frame << " of " << size << " bytes";
      }
    }
  }
}

TEST(Malformed, TruncationsWhoseHeaderAgreesAreRefusedOrReadable) {
  for (const WireMessage& message : EveryMessage()) {
    for (std::size_t size = 0; size < message.frames[1].size(); ++size) {
      WireMessage broken = message;
      broken.frames[1].resize(size);
      std::size_t body = 0;
      for (std::size_t i = 1; i < broken.frames.size(); ++i) body += broken.frames[i].size();
      broken.frames[0][12] = static_cast<std::byte>(body);
      broken.frames[0][13] = static_cast<std::byte>(body >> 8);
      (void)DecodeAndWalk(broken);
    }
  }
}

TEST(Malformed, EveryWordSetToExtremesIsRefusedOrReadable) {
  for (const WireMessage& message : EveryMessage()) {
    for (std::size_t at = 0; at + 4 <= message.frames[1].size(); ++at) {
      for (const std::uint32_t value : {0u, 1u, 0x7fffffffu, 0x80000000u, 0xfffffffcu, ~0u}) {
        WireMessage broken = message;
        std::memcpy(broken.frames[1].data() + at, &value, sizeof(value));
        (void)DecodeAndWalk(broken);
      }
    }
  }
}

TEST(Malformed, MetadataMayLieAnywhere) {
  for (const WireMessage& message : EveryMessage()) {
    for (std::size_t shift = 0; shift < 16; ++shift) {
      std::vector<std::vector<std::byte>> storage;
      std::vector<std::span<const std::byte>> frames;
      for (const auto& frame : message.frames) {
        std::vector<std::byte>& copy = storage.emplace_back(frame.size() + shift);
        std::copy(frame.begin(), frame.end(), copy.begin() + static_cast<std::ptrdiff_t>(shift));
        frames.push_back(std::span<const std::byte>(copy).subspan(shift));
      }
      EXPECT_TRUE(std::holds_alternative<Decoded>(Decode(frames))) << shift;
    }
  }
}

WireMessage HelloOf(flatbuffers::FlatBufferBuilder& builder) {
  WireMessage message = ToWire(SampleHello(), 99, 0);
  const auto* bytes = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
  message.frames[1].assign(bytes, bytes + builder.GetSize());
  const std::size_t size = message.frames[1].size();
  for (int i = 0; i < 4; ++i) message.frames[0][12 + i] = static_cast<std::byte>(size >> (8 * i));
  return message;
}

// Tables by hand, so that parts can be shared: field n of a table lies at vtable offset 4 + 2 n.
flatbuffers::voffset_t Field(int n) { return static_cast<flatbuffers::voffset_t>(4 + 2 * n); }

WireMessage HelloSharing(int references, std::size_t name_bytes) {
  flatbuffers::FlatBufferBuilder builder;
  const auto name = builder.CreateString("npc");
  const auto spaces = builder.CreateString(std::string(name_bytes, 's'));
  const auto agents = builder.CreateVector(std::vector<std::uint32_t>{});
  const auto start = builder.StartTable();
  builder.AddOffset(Field(0), name);
  builder.AddOffset(Field(1), spaces);
  builder.AddOffset(Field(2), agents);
  const flatbuffers::Offset<flatbuffers::Table> model(builder.EndTable(start));
  const auto models = builder.CreateVector(std::vector<flatbuffers::Offset<flatbuffers::Table>>(
      static_cast<std::size_t>(references), model));
  const auto hello = builder.StartTable();
  builder.AddElement<std::uint8_t>(Field(0), 1, 0);
  builder.AddElement<std::uint8_t>(Field(1), 1, 0);
  builder.AddOffset(Field(2), name);
  builder.AddOffset(Field(7), models);
  builder.Finish(flatbuffers::Offset<flatbuffers::Table>(builder.EndTable(hello)));
  return HelloOf(builder);
}

TEST(Amplification, OneReferenceIsGood) { EXPECT_TRUE(DecodeAndWalk(HelloSharing(1, 1000))); }

TEST(Amplification, ManyReferencesToOneBlobAreRefused) {
  EXPECT_FALSE(DecodeAndWalk(HelloSharing(60, 4000)));
  EXPECT_FALSE(DecodeAndWalk(HelloSharing(10'000, 10)));
}

TEST(Amplification, MoreThanFourThousandTablesAreRefused) {
  const auto result = HelloSharing(5000, 0).Decode();
  ASSERT_TRUE(std::holds_alternative<DecodeFailure>(result));
  EXPECT_EQ(std::get<DecodeFailure>(result).sentence,
            "the metadata frame is no valid FlatBuffer of its type");
}

TEST(Amplification, DeepNestingIsNeverFollowed) {
  // Tables in tables in unknown fields: nothing of the schema leads there, so nobody goes.
  flatbuffers::FlatBufferBuilder builder;
  flatbuffers::Offset<flatbuffers::Table> inner;
  for (int depth = 0; depth < 1000; ++depth) {
    const auto start = builder.StartTable();
    if (depth > 0) builder.AddOffset(Field(7), inner);
    inner = flatbuffers::Offset<flatbuffers::Table>(builder.EndTable(start));
  }
  builder.Finish(inner);
  EXPECT_FALSE(DecodeAndWalk(HelloOf(builder)));
}

}  // namespace
}  // namespace murmurate::wire
