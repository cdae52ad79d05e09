#include "server/ingest/event_log.h"

#include <gmock/gmock.h>

#include "shared/core/clock.h"

namespace murmurate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::int64_t kSecond = kNanosecondsPerSecond;
using Actor = wire::ServerSession::ActorReport;

struct Book {
  std::vector<std::string> lines;
  EventLog event_log{[this](LogLevel, std::string_view line) { lines.emplace_back(line); }};

  std::vector<std::string> PopLines() { return std::exchange(lines, {}); }
};

wire::ServerSession::Reply Refused(const std::string& peer, std::string sentence) {
  return {peer, wire::Error{wire::Refusal::kMeaning, std::move(sentence), 1}, 1};
}

TEST(EventLog, AFloodOfRefusalsIsOneLineASecondAndPeer) {
  Book book;
  book.event_log.Name("peer-1", "game-7", 0);
  for (int i = 0; i < 100; ++i) book.event_log.NoteReply(Refused("peer-1", "bad"), i);
  book.event_log.NoteReply(Refused("peer-2", "worse"), 5);
  const std::string name = wire::RefusalName(wire::Refusal::kMeaning);
  EXPECT_THAT(book.PopLines(),
              ElementsAre("actor game-7 was refused (" + name + "): bad",
                          "a connection without a name was refused (" + name + "): worse"));
  book.event_log.NoteReply(Refused("peer-1", "bad"), kSecond);
  EXPECT_THAT(book.PopLines(),
              ElementsAre("actor game-7 was refused (" + name + "): bad (and 99 more)"));
}

TEST(EventLog, WhatThereIsNoRoomForIsNotCalledBusy) {
  Book book;
  book.event_log.Name("peer-1", "game-7", 0);
  wire::Error error{wire::Refusal::kBusy, "needs 60544 bytes, 16384 are free in /dev/shm", 0};
  book.event_log.NoteReply({"peer-1", error, 0}, 0);
  EXPECT_THAT(book.PopLines(),
              ElementsAre("actor game-7 was refused: needs 60544 bytes, 16384 are free "
                          "in /dev/shm"));
}

TEST(EventLog, TellsWhoJoinedFellSilentCameBackAndLeft) {
  Book book;
  Actor actor{.name = "game-7", .sender = 7, .agents = 2};
  book.event_log.NoteActors({actor}, 0);
  EXPECT_THAT(book.PopLines(), ElementsAre("actor game-7 joined with 2 agents"));
  book.event_log.NoteActors({actor}, kSecond);
  EXPECT_THAT(book.PopLines(), IsEmpty());
  actor.health = Actor::Health::kStalled;
  actor.silent_ns = 3 * kSecond;
  book.event_log.NoteActors({actor}, 2 * kSecond);
  EXPECT_THAT(book.PopLines(),
              ElementsAre("actor game-7 is silent for 3.0 s; its share goes to the others"));
  actor.health = Actor::Health::kLive;
  book.event_log.NoteActors({actor}, 3 * kSecond);
  EXPECT_THAT(book.PopLines(), ElementsAre("actor game-7 is heard again"));
  book.event_log.NoteActors({}, 4 * kSecond);
  EXPECT_THAT(book.PopLines(), ElementsAre("actor game-7 left"));
}

TEST(EventLog, WhoHasNoSessionYetIsToldOfOnlyWhenNoGreetingComes) {
  Book book;
  const wire::Error error{wire::Refusal::kNotRegistered, "say HELLO", 1};
  for (int i = 0; i < 9; ++i) book.event_log.NoteReply({"peer-1", error, 1}, i * kSecond);
  book.event_log.Name("peer-1", "game-7", 9 * kSecond);
  for (int i = 10; i < 19; ++i) book.event_log.NoteReply({"peer-1", error, 1}, i * kSecond);
  EXPECT_THAT(book.PopLines(), IsEmpty());
  book.event_log.NoteReply({"peer-1", error, 1}, 20 * kSecond);
  EXPECT_EQ(book.PopLines().size(), 1u);
}

TEST(EventLog, ATroubleIsToldOnceAlsoWhenItsNumbersChange) {
  Book book;
  Actor actor{.name = "game-7", .sender = 7, .agents = 2};
  actor.troubles = {{"npc", 3, 2, "NaN at place 1"}, {"npc", 0, 0, "41 % are never sent"}};
  book.event_log.NoteActors({actor}, 0);
  EXPECT_THAT(book.PopLines(),
              ElementsAre("actor game-7 joined with 2 agents",
                          "actor game-7, agent 3 of model npc: NaN at place 1 (the same of 1 more "
                          "agents)",
                          "actor game-7, model npc: 41 % are never sent"));
  actor.troubles[1].sentence = "42 % are never sent";
  book.event_log.NoteActors({actor}, kSecond);
  EXPECT_THAT(book.PopLines(), IsEmpty());
}

TEST(EventLog, AWaitIsToldOnceAMinute) {
  Book book;
  book.event_log.NoteWaiting("npc", "", kSecond);
  for (int i = 0; i < 59; ++i) book.event_log.NoteWaiting("npc", "npc waits", (2 + i) * kSecond);
  book.event_log.NoteWaiting("scout", "scout waits", 3 * kSecond);
  EXPECT_THAT(book.PopLines(), ElementsAre("npc waits", "scout waits"));
  book.event_log.NoteWaiting("npc", "npc still waits", 62 * kSecond);
  EXPECT_THAT(book.PopLines(), ElementsAre("npc still waits"));
}

TEST(EventLog, StrangersWithoutEndTakeBoundedMemory) {
  Book book;
  for (int i = 0; i < 20000; ++i) {
    book.event_log.NoteReply(Refused("peer-" + std::to_string(i), "bad"), i);
  }
  EXPECT_LE(book.event_log.peers(), 4096u);
}

}  // namespace
}  // namespace murmurate
