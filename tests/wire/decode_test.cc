// What is read of a message, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/wire/decoding.h"
#include "tests/wire/samples.h"

namespace murmurate::wire {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Decode, ReadsWhatFlatcWrote) {
  // flatc --binary of {"sent_ns": 1234567890123, "models": [{"steps": 1000, "dropped_steps": 24,
  // "version": 7}]} with Ping as the root type.
  const Ping ping = DecodedAs<Ping>(
      Under(Ping::kRow.type,
            Bytes({0x10, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x08, 0x00, 0x14, 0x00, 0x08,
                   0x00, 0x04, 0x00, 0x08, 0x00, 0x00, 0x00, 0x10, 0x00, 0x00, 0x00, 0xcb, 0x04,
                   0xfb, 0x71, 0x1f, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00,
                   0x00, 0xe8, 0x03, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x18, 0x00, 0x00, 0x00,
                   0x00, 0x00, 0x00, 0x00, 0x07, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00})));
  EXPECT_EQ(ping.sent_ns, 1234567890123);
  ASSERT_EQ(ping.models.size(), 1u);
  EXPECT_EQ(ping.models[0].steps, 1000u);
  EXPECT_EQ(ping.models[0].dropped_steps, 24u);
  EXPECT_EQ(ping.models[0].version, 7u);
}

TEST(Decode, ReadsHelloAsFlatcWroteIt) {
  const Hello hello = DecodedAs<Hello>(Under(
      Hello::kRow.type,
      Bytes({0x20, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x16, 0x00, 0x20, 0x00,
             0x04, 0x00, 0x05, 0x00, 0x08, 0x00, 0x18, 0x00, 0x06, 0x00, 0x07, 0x00, 0x0c, 0x00,
             0x10, 0x00, 0x14, 0x00, 0x16, 0x00, 0x00, 0x00, 0x01, 0x01, 0x01, 0x01, 0x94, 0x00,
             0x00, 0x00, 0x92, 0x10, 0x00, 0x00, 0x10, 0x00, 0x00, 0x00, 0x03, 0x00, 0x00, 0x00,
             0xef, 0xcd, 0xab, 0x89, 0x67, 0x45, 0x23, 0x01, 0x01, 0x00, 0x00, 0x00, 0x14, 0x00,
             0x00, 0x00, 0x00, 0x00, 0x0e, 0x00, 0x20, 0x00, 0x04, 0x00, 0x08, 0x00, 0x0c, 0x00,
             0x10, 0x00, 0x18, 0x00, 0x0e, 0x00, 0x00, 0x00, 0x58, 0x00, 0x00, 0x00, 0x24, 0x00,
             0x00, 0x00, 0x14, 0x00, 0x00, 0x00, 0x09, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
             0x0b, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x00, 0x00,
             0x00, 0x00, 0x05, 0x00, 0x00, 0x00, 0x28, 0x00, 0x00, 0x00, 0x6f, 0x62, 0x73, 0x65,
             0x72, 0x76, 0x61, 0x74, 0x69, 0x6f, 0x6e, 0x20, 0x66, 0x6c, 0x6f, 0x61, 0x74, 0x33,
             0x32, 0x20, 0x34, 0x0a, 0x61, 0x63, 0x74, 0x69, 0x6f, 0x6e, 0x20, 0x64, 0x69, 0x73,
             0x63, 0x72, 0x65, 0x74, 0x65, 0x20, 0x32, 0x0a, 0x00, 0x00, 0x00, 0x00, 0x03, 0x00,
             0x00, 0x00, 0x6e, 0x70, 0x63, 0x00, 0x06, 0x00, 0x00, 0x00, 0x67, 0x61, 0x6d, 0x65,
             0x2d, 0x37, 0x00, 0x00})));
  EXPECT_EQ(hello.min_major, 1);
  EXPECT_EQ(hello.max_major, 1);
  EXPECT_EQ(hello.actor_name, "game-7");
  EXPECT_EQ(hello.host_identity, 81985529216486895u);
  EXPECT_EQ(hello.pace, Pace::kCredit);
  EXPECT_TRUE(hello.accept_reset);
  EXPECT_EQ(hello.pid, 4242u);
  EXPECT_EQ(hello.number, 3u);
  EXPECT_EQ(hello.features, 0u) << "a client of before there were any";
  ASSERT_EQ(hello.models.size(), 1u);
  EXPECT_EQ(hello.models[0].name, "npc");
  EXPECT_EQ(hello.models[0].spaces, "observation float32 4\naction discrete 2\n");
  EXPECT_THAT(hello.models[0].agents, ElementsAre(0, 5));
  EXPECT_EQ(hello.models[0].holds_incarnation, 9u);
  EXPECT_EQ(hello.models[0].holds_version, 11u);
}

TEST(Decode, BadReportsAreRefused) {
  const std::vector<std::byte> block = SampleBlock();
  Experience e = SampleExperience();
  e.reports = {{"two words", 1.0, 1}};
  EXPECT_EQ(FailureOf(ToWire(e, 1, 1, &block)).refusal, Refusal::kMeaning);
  e.reports = {{"kills", std::numeric_limits<double>::quiet_NaN(), 1}};
  EXPECT_EQ(FailureOf(ToWire(e, 1, 1, &block)).refusal, Refusal::kNotFinite);
  e.reports.assign(kMaxReportedNumbers + 1, {"kills", 1.0, 1});
  EXPECT_EQ(FailureOf(ToWire(e, 1, 1, &block)).refusal, Refusal::kTooLarge);
}

TEST(Decode, NewerMajorVersionIsNamedWithBothNumbers) {
  WireMessage message = EveryMessage()[0];
  message.frames[0][4] = std::byte{2};
  const DecodeFailure failure = FailureOf(message);
  EXPECT_EQ(failure.refusal, Refusal::kVersion);
  EXPECT_THAT(failure.sentence, HasSubstr("version 1"));
  EXPECT_THAT(failure.sentence, HasSubstr("has 2"));
  EXPECT_EQ(failure.sender, 99u);
  EXPECT_EQ(failure.sequence, 7u);
}

TEST(Decode, NewerMinorVersionIsRead) {
  WireMessage message = EveryMessage()[0];
  message.frames[0][5] = std::byte{9};
  EXPECT_EQ(DecodedAs<Hello>(message).actor_name, "game-7");
}

TEST(Decode, UnknownAndReservedTypesAreNamed) {
  for (const int type : {0, 13, 14, 32, 255}) {
    WireMessage message = ToWire(Bye{}, 99, 7);
    message.frames[0][6] = static_cast<std::byte>(type);
    const DecodeFailure failure = FailureOf(message);
    EXPECT_EQ(failure.refusal, Refusal::kUnknownType) << type;
    EXPECT_THAT(failure.sentence, HasSubstr(std::to_string(type)));
  }
}

TEST(Decode, WrongFrameCountsAreRefused) {
  EXPECT_EQ(FailureOf({}).refusal, Refusal::kMalformed);
  for (WireMessage message : EveryMessage()) {
    WireMessage more = message;
    more.frames.emplace_back(4);
    EXPECT_EQ(FailureOf(more).refusal, Refusal::kMalformed);
    message.frames.pop_back();
    EXPECT_EQ(FailureOf(message).refusal, Refusal::kMalformed);
  }
}

TEST(Decode, HeaderThatCountsWrongIsRefused) {
  WireMessage message = EveryMessage()[2];
  message.frames[2].pop_back();
  EXPECT_EQ(FailureOf(message).refusal, Refusal::kMalformed);
}

TEST(Decode, MetadataBeyondItsLimitIsRefusedUnread) {
  EXPECT_EQ(FailureOf(Under(Ping::kRow.type, std::vector<std::byte>(4097))).refusal,
            Refusal::kTooLarge);
  WireMessage greeting = Under(Hello::kRow.type, std::vector<std::byte>(1024 * 1024 + 1));
  EXPECT_EQ(FailureOf(greeting).refusal, Refusal::kTooLarge);
  WireMessage report = Under(AdminOk::kRow.type, std::vector<std::byte>(256 * 1024 + 1));
  EXPECT_EQ(FailureOf(report).refusal, Refusal::kTooLarge);
}

TEST(Decode, GreetingsOfSixtyFourThousandAgentsFit) {
  Hello hello = SampleHello();
  hello.models.resize(1);
  hello.models[0].agents.clear();
  for (std::uint32_t i = 0; i < kMaxAgents; ++i) hello.models[0].agents.push_back(i);
  EXPECT_EQ(DecodedAs<Hello>(ToWire(hello, 1, 0)).models[0].agents.size(), kMaxAgents);
  EXPECT_EQ(kMaxAgents, 65'536u);
  HelloOk ok = SampleHelloOk();
  ok.models.resize(1);
  ok.models[0].agent_indices.assign(kMaxAgents, 7);
  ok.models[0].agent_seeds.assign(kMaxAgents, 8);
  EXPECT_EQ(DecodedAs<HelloOk>(ToWire(ok, 1, 0)).models[0].agent_seeds.size(), kMaxAgents);
  hello.models.push_back({"one-more", "x", {0}, 0, 0});
  EXPECT_EQ(FailureOf(ToWire(hello, 1, 0)).refusal, Refusal::kTooLarge);
}

TEST(Decode, BadNamesAndListsAreRefused) {
  for (const std::string& bad :
       {std::string(""), std::string("two words"), std::string("a/b"), std::string("\x1b[2J"),
        std::string(65, 'x'), std::string("a\0b", 3)}) {
    Hello hello = SampleHello();
    hello.actor_name = bad;
    EXPECT_NE(FailureOf(ToWire(hello, 1, 0)).refusal, Refusal::kNone) << bad;
    hello = SampleHello();
    hello.models[0].name = bad;
    EXPECT_NE(FailureOf(ToWire(hello, 1, 0)).refusal, Refusal::kNone) << bad;
  }
  Hello twice = SampleHello();
  twice.models[0].agents = {4, 4};
  EXPECT_EQ(FailureOf(ToWire(twice, 1, 0)).refusal, Refusal::kMeaning);
  twice = SampleHello();
  twice.models[1].name = "npc";
  EXPECT_EQ(FailureOf(ToWire(twice, 1, 0)).refusal, Refusal::kMeaning);
  Hello backwards = SampleHello();
  backwards.min_major = 3;
  EXPECT_EQ(FailureOf(ToWire(backwards, 1, 0)).refusal, Refusal::kMeaning);
}

TEST(Decode, ChunkOutsideItsWeightsIsRefused) {
  const std::vector<std::byte> bytes(101);
  const Chunk chunk{ModelId("npc"), 77, 8, 1000, 900, 0};
  EXPECT_EQ(FailureOf(ToWire(chunk, 1, 0, &bytes)).refusal, Refusal::kMeaning);
  const std::vector<std::byte> huge(kChunkBytes + 1);
  const Chunk large{ModelId("npc"), 77, 8, 1 << 30, 0, 0};
  EXPECT_EQ(FailureOf(ToWire(large, 1, 0, &huge)).refusal, Refusal::kTooLarge);
}

TEST(Decode, SentencesReachTheTerminalWithoutControlCharacters) {
  EXPECT_EQ(DecodedAs<Goaway>(ToWire(Goaway{"a\x1b[2Jb\n", 0, false}, 1, 0)).reason, "a?[2Jb?");
}

}  // namespace
}  // namespace murmurate::wire
