#include "shared/wire/messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "tests/wire/decoding.h"
#include "tests/wire/samples.h"

namespace murmurate::wire {
namespace {

using testing::ElementsAre;

TEST(Header, LiesAsDrawn) {
  const Encoded encoded = Encode(Pull{}, 0x1122334455667788, 0x0102030405060708, 0);
  const int size = static_cast<int>(encoded.metadata.size());
  EXPECT_THAT(std::vector<std::byte>(encoded.header.begin(), encoded.header.end()),
              testing::ElementsAreArray(Bytes({
                  'M',  'M',  'R',  '1',                           // magic
                  1,    1,                                         // major, minor
                  11,   0,                                         // PULL
                  0,    0,    0,    0,                             // flags
                  size, 0,    0,    0,                             // body
                  0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,  // sender
                  8,    7,    6,    5,    4,    3,    2,    1,     // sequence
              })));
}

TEST(Header, CountsTheBlock) {
  const Encoded encoded = Encode(SampleExperience(), 1, 1, 0x10000);
  const std::size_t body = encoded.metadata.size() + 0x10000;
  EXPECT_EQ(encoded.header[12], static_cast<std::byte>(body));
  EXPECT_EQ(encoded.header[13], static_cast<std::byte>(body >> 8));
  EXPECT_EQ(encoded.header[14], std::byte{1});
}

TEST(Announcement, LiesAsDrawn) {
  // printf default | sha256sum
  const std::vector<std::byte> expected = Bytes({
      0x37, 0xa8, 0xee, 0xc1, 0xce, 0x19, 0x68, 0x7d,  // model id
      0x13, 0x2f, 0xe2, 0x90, 0x51, 0xdc, 0xa6, 0x29,  //
      'M',  'M',  'R',  'A',  1,    0,    0,    0,     // magic, layout version
      8,    7,    6,    5,    4,    3,    2,    1,     // incarnation
      0x39, 0x30, 0,    0,    0,    0,    0,    0,     // version 12345
      0,    0,    1,    0,    0,    0,    0,    0,     // 65536 bytes
      0xef, 0xcd, 0xab, 0x89, 0x67, 0x45, 0x23, 0x01,  // hash
      0,    0,    0,    0,    0,    0,    0,    0,     // reserved
  });
  const Announcement announcement{ModelId("default"), 0x0102030405060708, 12345, 65536,
                                  0x0123456789abcdef};
  const auto bytes = EncodeAnnouncement(announcement);
  EXPECT_THAT(std::vector<std::byte>(bytes.begin(), bytes.end()),
              testing::ElementsAreArray(expected));
  Announcement back;
  ASSERT_TRUE(DecodeAnnouncement(expected, &back).ok());
  EXPECT_EQ(back.model, announcement.model);
  EXPECT_EQ(back.incarnation, 0x0102030405060708u);
  EXPECT_EQ(back.version, 12345u);
  EXPECT_EQ(back.bytes, 65536u);
  EXPECT_EQ(back.hash, 0x0123456789abcdefu);
}

TEST(Announcement, OfAnotherSizeOrProgramIsRefused) {
  const auto bytes = EncodeAnnouncement({});
  Announcement announcement;
  EXPECT_FALSE(DecodeAnnouncement(std::span(bytes).first(63), &announcement).ok());
  EXPECT_FALSE(DecodeAnnouncement({}, &announcement).ok());
  auto foreign = bytes;
  foreign[16] = std::byte{'X'};
  EXPECT_FALSE(DecodeAnnouncement(foreign, &announcement).ok());
  auto newer = bytes;
  newer[20] = std::byte{2};
  EXPECT_FALSE(DecodeAnnouncement(newer, &announcement).ok());
}

TEST(RoundTrip, EveryMessageComesBackWithItsHeader) {
  std::set<int> types;
  for (const WireMessage& message : EveryMessage()) {
    const auto result = message.Decode();
    ASSERT_TRUE(std::holds_alternative<Decoded>(result))
        << std::get<DecodeFailure>(result).sentence;
    const Decoded& decoded = std::get<Decoded>(result);
    types.insert(static_cast<int>(decoded.header.type));
    EXPECT_EQ(decoded.header.sender, 99u);
    EXPECT_EQ(decoded.header.sequence, 7u);
    EXPECT_EQ(Encode(decoded.body, 99, 7, decoded.block.size()).metadata, message.frames[1]);
  }
  EXPECT_THAT(types, ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 15, 16, 17, 18, 19, 20, 21,
                                 22, 23, 24, 25, 26, 27, 28, 29, 30, 31));
}

TEST(RoundTrip, HelloOkKeepsItsFields) {
  const HelloOk ok = DecodedAs<HelloOk>(EveryMessage()[1]);
  EXPECT_EQ(ok.incarnation, 77u);
  EXPECT_TRUE(ok.resumed);
  EXPECT_EQ(ok.heartbeat_ms, 500u);
  EXPECT_EQ(ok.max_message_bytes, 1u << 20);
  EXPECT_EQ(ok.bytes_total, 4096u);
  EXPECT_EQ(ok.announce_address, "tcp://127.0.0.1:7421");
  EXPECT_EQ(ok.weights_address, "tcp://127.0.0.1:7422");
  EXPECT_EQ(ok.session, 12u);
  EXPECT_EQ(ok.number, 3u);
  ASSERT_EQ(ok.models.size(), 1u);
  const HelloOkModel& model = ok.models[0];
  EXPECT_EQ(model.id, ModelId("npc"));
  EXPECT_EQ(model.member, 1u);
  EXPECT_EQ(model.spec, "murmurate-model 1\n");
  EXPECT_EQ(model.version, 8u);
  EXPECT_EQ(model.trajectory_length, 8u);
  EXPECT_EQ(model.max_trajectory_ms, 5000u);
  EXPECT_EQ(model.segment, "/murmurate-0-run-npc-77");
  EXPECT_THAT(model.agent_indices, ElementsAre(2, 3));
  EXPECT_THAT(model.agent_seeds, ElementsAre(1111, 2222));
  EXPECT_EQ(model.steps_total, 64u);
  EXPECT_EQ(model.at_version, 7u);
  EXPECT_TRUE(model.changes);
  EXPECT_EQ(model.evaluation_share, 0.25);
}

/// The last field of a table is what an older peer does not write, and does not read.
TEST(RoundTrip, ALearnerThatAsksForNoEvaluationsWritesWhatAnOlderOneWrites) {
  HelloOk ok = SampleHelloOk();
  const WireMessage asks = ToWire(ok, 99, 0);
  ok.models[0].evaluation_share = 0.0;
  const WireMessage asks_for_none = ToWire(ok, 99, 0);
  EXPECT_LT(asks_for_none.frames[1].size(), asks.frames[1].size()) << "the field is not there";
  EXPECT_EQ(DecodedAs<HelloOk>(asks_for_none).models[0].evaluation_share, 0.0);
}

TEST(RoundTrip, AShareOfEvaluationsIsAtMostAHalf) {
  for (const double share : {-0.1, 0.51, std::nan("")}) {
    HelloOk ok = SampleHelloOk();
    ok.models[0].evaluation_share = share;
    EXPECT_TRUE(std::holds_alternative<DecodeFailure>(ToWire(ok, 99, 0).Decode())) << share;
  }
}

TEST(RoundTrip, ExperienceKeepsItsFields) {
  const Experience e = DecodedAs<Experience>(EveryMessage()[2]);
  EXPECT_EQ(e.model, 0u);
  EXPECT_EQ(e.agent, 5u);
  EXPECT_EQ(e.incarnation, 77u);
  EXPECT_EQ(e.version, 3u);
  EXPECT_EQ(e.first_step, 100u);
  EXPECT_EQ(e.steps, 2u);
  EXPECT_EQ(e.agent_steps, 102u);
  EXPECT_EQ(e.columns[5].offset, 448u);
  EXPECT_EQ(e.columns[5].bytes, 12u);
  EXPECT_EQ(e.columns[7].offset, 384u);
  ASSERT_EQ(e.reports.size(), 1u);
  EXPECT_EQ(e.reports[0].name, "kills");
  EXPECT_EQ(e.reports[0].sum, 3.5);
  EXPECT_EQ(e.reports[0].count, 2u);
  ASSERT_EQ(e.changes.all().size(), 1u);
  EXPECT_EQ(e.changes.all()[0], (VersionChange{1, 4}));
}

TEST(RoundTrip, ColumnsAtTheEndThatHoldNothingAreNotSent) {
  const std::vector<std::byte> block = SampleBlock();
  Experience e = SampleExperience();
  const std::size_t plain = Encode(e, 1, 1, block.size()).metadata.size();
  e.columns[static_cast<int>(Column::kFrames0)] = {512, 24};
  EXPECT_EQ(Encode(e, 1, 1, block.size()).metadata.size(), plain + 3 * sizeof(ColumnRange));
  e.columns[static_cast<int>(Column::kMask)] = {576, 4};
  const WireMessage message = ToWire(e, 1, 1, &block);
  const Experience read = DecodedAs<Experience>(message);
  EXPECT_EQ(read.columns[static_cast<int>(Column::kMask)].bytes, 4u);
  EXPECT_EQ(read.columns[static_cast<int>(Column::kState0)].bytes, 0u);
  EXPECT_EQ(read.columns[static_cast<int>(Column::kFrames0)].bytes, 24u);
}

TEST(RoundTrip, ThePingOfSixtyFourModelsHasRoomForItsTroubles) {
  Ping ping;
  ping.models.assign(kMaxModels, {~0ull, ~0ull, 7});
  ping.waits.assign(kMaxModels, {1, 2});
  for (std::uint32_t i = 0; i < 6; ++i) ping.troubles.push_back({i, i, 1, std::string(5000, 'x')});
  const Ping read = DecodedAs<Ping>(ToWire(ping, 1, 0));
  EXPECT_EQ(read.models.size(), kMaxModels);
  EXPECT_EQ(read.troubles.size(), kMaxPingTroubles);  // the rest is not sent
  EXPECT_EQ(read.troubles.back().sentence.size(), 240u);
  ping.troubles.clear();
  EXPECT_TRUE(DecodedAs<Ping>(ToWire(ping, 1, 0)).troubles.empty());
}

TEST(RoundTrip, SmallMessagesKeepTheirFields) {
  const std::vector<WireMessage> all = EveryMessage();
  const auto accepted = DecodedAs<Accepted>(all[3]);
  EXPECT_EQ(accepted.sequence, 7u);
  EXPECT_EQ(accepted.bytes_total, 1000u);
  ASSERT_EQ(accepted.models.size(), 2u);
  EXPECT_EQ(accepted.models[1].steps_total, 128u);
  EXPECT_EQ(accepted.models[0].at_version, 2u);
  EXPECT_EQ(accepted.models[0].version, 3u);
  EXPECT_EQ(DecodedAs<Ping>(all[4]).sent_ns, -5);
  EXPECT_EQ(DecodedAs<Ping>(all[4]).waits.at(0).waited_ns, 30u);
  EXPECT_EQ(DecodedAs<Ping>(all[4]).waits[0].played_ns, 40u);
  const PingTrouble trouble = DecodedAs<Ping>(all[4]).troubles.at(0);
  EXPECT_EQ(trouble.agent, 3u);
  EXPECT_EQ(trouble.agents, 8u);
  EXPECT_EQ(trouble.sentence, "NaN at place 1");
  EXPECT_EQ(DecodedAs<Pong>(all[5]).incarnation, 77u);
  const auto goaway = DecodedAs<Goaway>(all[6]);
  EXPECT_EQ(goaway.reason, "stopped by the user");
  EXPECT_EQ(goaway.deadline_ms, 3000u);
  EXPECT_TRUE(goaway.restart_expected);
  const auto error = DecodedAs<Error>(all[7]);
  EXPECT_EQ(error.refusal, Refusal::kSpaces);
  EXPECT_EQ(error.sentence, "action: expected discrete 2, got discrete 3");
  EXPECT_EQ(error.sequence, 7u);
  const auto pull = DecodedAs<Pull>(all[9]);
  EXPECT_EQ(pull.model, ModelId("npc"));
  EXPECT_EQ(pull.version, 8u);
  EXPECT_EQ(pull.offset, 4096u);
  EXPECT_EQ(pull.credit, 3u);
  const auto chunk = DecodedAs<Chunk>(all[10]);
  EXPECT_EQ(chunk.incarnation, 77u);
  EXPECT_EQ(chunk.total_bytes, 1000u);
  EXPECT_EQ(chunk.offset, 900u);
  EXPECT_EQ(chunk.hash, 0xfeedu);
  EXPECT_EQ(DecodedAs<Admin>(all[11]).command, "status");
  EXPECT_FALSE(DecodedAs<AdminOk>(all[12]).ok);
  EXPECT_EQ(DecodedAs<AdminOk>(all[12]).text, "{\"a\":1}\n");
  EXPECT_EQ(DecodedAs<Settings>(all[13]), (Settings{513, {{"difficulty", 2.5}, {"wind", -1.0}}}));
  const auto committed = DecodedAs<Committed>(all[14]);
  EXPECT_EQ(committed.model, 1u);
  EXPECT_EQ(committed.sequence, 40u);
  EXPECT_EQ(committed.trajectories, 38u);
  EXPECT_EQ(committed.steps, 300u);
}

TEST(RoundTrip, AsManySettingsAsThereMayBeFitAndNoMore) {
  Settings settings{65535, {}};
  for (std::size_t i = 0; i < kMaxSettings; ++i)
    settings.settings.push_back({std::string(62, 'a') + std::to_string(10 + i), 0.5});
  EXPECT_EQ(DecodedAs<Settings>(ToWire(settings, 1, 0)), settings);
  settings.settings.push_back({"one-more", 1.0});
  EXPECT_EQ(FailureOf(ToWire(settings, 1, 0)).refusal, Refusal::kTooLarge);
  settings.settings = {{"wind", std::numeric_limits<double>::infinity()}};
  EXPECT_EQ(FailureOf(ToWire(settings, 1, 0)).refusal, Refusal::kNotFinite);
  settings = {65536, {}};
  EXPECT_EQ(FailureOf(ToWire(settings, 1, 0)).refusal, Refusal::kMeaning);
}

TEST(Encode, LongSentencesAreCut) {
  const Error error{Refusal::kMeaning, std::string(10'000, 'x'), 1};
  EXPECT_EQ(DecodedAs<Error>(ToWire(error, 1, 0)).sentence.size(), 1024u);
}

TEST(Names, AreLettersDigitsAndThreeSigns) {
  EXPECT_TRUE(IsGoodName("Game_7.b-2"));
  EXPECT_TRUE(IsGoodName(std::string(64, 'a')));
  EXPECT_FALSE(IsGoodName(std::string(65, 'a')));
  EXPECT_FALSE(IsGoodName("\xc3\xa4"));
}

TEST(RoundTrip, WhatWorkersAndShardsSayKeepsItsFields) {
  const auto all = EveryMessage();
  const auto join = DecodedAs<Join>(all[15]);
  EXPECT_EQ(join.model, "npc");
  EXPECT_EQ(join.spec, "murmurate-model 1\n");
  EXPECT_EQ(join.rule, "rule sync");
  EXPECT_EQ(join.worker, 3u);
  EXPECT_EQ(join.shard, 1u);
  EXPECT_EQ(join.shards, 2u);
  EXPECT_EQ(join.step, 41u);
  EXPECT_EQ(join.host, 5u);
  EXPECT_EQ(join.segment, "/murmurate-p");
  const auto joined = DecodedAs<Joined>(all[16]);
  EXPECT_EQ(joined.version, 9u);
  EXPECT_EQ(joined.begin, 64u);
  EXPECT_EQ(joined.count, 32u);
  EXPECT_TRUE(joined.empty);
  EXPECT_EQ(joined.step, 40u);
  EXPECT_EQ(joined.segment, "/murmurate-s");
  const auto push = DecodedAs<Push>(all[17]);
  EXPECT_EQ(push.step, 41u);
  EXPECT_EQ(push.pulled, 9u);
  EXPECT_EQ(push.learning_rate, 0.25);
  EXPECT_EQ(push.turn, 7u);
  const auto center = DecodedAs<Center>(all[18]);
  EXPECT_EQ(center.step, 41u);
  EXPECT_EQ(center.version, 10u);
  EXPECT_EQ(center.staleness, 1u);
  EXPECT_EQ(center.distance, 0.5);
  EXPECT_TRUE(center.merged);
  EXPECT_EQ(center.kept, 38u);
  EXPECT_TRUE(DecodedAs<Alive>(all[19]).waiting);
}

TEST(Names, EveryRefusalHasOneOfItsOwn) {
  std::set<std::string> names;
  for (int i = 0; i < kRefusalCount; ++i) names.insert(RefusalName(static_cast<Refusal>(i)));
  EXPECT_EQ(names.size(), static_cast<std::size_t>(kRefusalCount));
  EXPECT_STREQ(RefusalName(Refusal::kNotFinite), "not-finite");
}

}  // namespace
}  // namespace murmurate::wire
