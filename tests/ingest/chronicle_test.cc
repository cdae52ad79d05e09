#include "server/ingest/chronicle.h"

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
  Chronicle chronicle{[this](LogLevel, std::string_view line) { lines.emplace_back(line); }};

  std::vector<std::string> Take() { return std::exchange(lines, {}); }
};

wire::ServerSession::Reply Refused(const std::string& peer, std::string sentence) {
  return {peer, wire::Error{wire::Refusal::kMeaning, std::move(sentence), 1}, 1};
}

TEST(Chronicle, AFloodOfRefusalsIsOneLineASecondAndPeer) {
  Book book;
  book.chronicle.Name("peer-1", "game-7", 0);
  for (int i = 0; i < 100; ++i) book.chronicle.NoteReply(Refused("peer-1", "bad"), i);
  book.chronicle.NoteReply(Refused("peer-2", "worse"), 5);
  const std::string name = wire::RefusalName(wire::Refusal::kMeaning);
  EXPECT_THAT(book.Take(),
              ElementsAre("actor game-7 was refused (" + name + "): bad",
                          "a connection without a name was refused (" + name + "): worse"));
  book.chronicle.NoteReply(Refused("peer-1", "bad"), kSecond);
  EXPECT_THAT(book.Take(),
              ElementsAre("actor game-7 was refused (" + name + "): bad (and 99 more)"));
}

TEST(Chronicle, WhatThereIsNoRoomForIsNotCalledBusy) {
  Book book;
  book.chronicle.Name("peer-1", "game-7", 0);
  wire::Error error{wire::Refusal::kBusy, "needs 60544 bytes, 16384 are free in /dev/shm", 0};
  book.chronicle.NoteReply({"peer-1", error, 0}, 0);
  EXPECT_THAT(book.Take(),
              ElementsAre("actor game-7 was refused: needs 60544 bytes, 16384 are free "
                          "in /dev/shm"));
}

TEST(Chronicle, TellsWhoJoinedFellSilentCameBackAndLeft) {
  Book book;
  Actor actor{.name = "game-7", .sender = 7, .agents = 2};
  book.chronicle.NoteActors({actor}, 0);
  EXPECT_THAT(book.Take(), ElementsAre("actor game-7 joined with 2 agents"));
  book.chronicle.NoteActors({actor}, kSecond);
  EXPECT_THAT(book.Take(), IsEmpty());
  actor.health = Actor::Health::kStalled;
  actor.silent_ns = 3 * kSecond;
  book.chronicle.NoteActors({actor}, 2 * kSecond);
  EXPECT_THAT(book.Take(),
              ElementsAre("actor game-7 is silent for 3.0 s; its share goes to the others"));
  actor.health = Actor::Health::kLive;
  book.chronicle.NoteActors({actor}, 3 * kSecond);
  EXPECT_THAT(book.Take(), ElementsAre("actor game-7 is heard again"));
  book.chronicle.NoteActors({}, 4 * kSecond);
  EXPECT_THAT(book.Take(), ElementsAre("actor game-7 left"));
}

TEST(Chronicle, WhoHasNoSessionYetIsToldOfOnlyWhenNoGreetingComes) {
  Book book;
  const wire::Error error{wire::Refusal::kNotRegistered, "say HELLO", 1};
  for (int i = 0; i < 9; ++i) book.chronicle.NoteReply({"peer-1", error, 1}, i * kSecond);
  book.chronicle.Name("peer-1", "game-7", 9 * kSecond);
  for (int i = 10; i < 19; ++i) book.chronicle.NoteReply({"peer-1", error, 1}, i * kSecond);
  EXPECT_THAT(book.Take(), IsEmpty());
  book.chronicle.NoteReply({"peer-1", error, 1}, 20 * kSecond);
  EXPECT_EQ(book.Take().size(), 1u);
}

TEST(Chronicle, ATroubleIsToldOnceAlsoWhenItsNumbersChange) {
  Book book;
  Actor actor{.name = "game-7", .sender = 7, .agents = 2};
  actor.troubles = {{"npc", 3, 2, "NaN at place 1"}, {"npc", 0, 0, "41 % are never sent"}};
  book.chronicle.NoteActors({actor}, 0);
  EXPECT_THAT(book.Take(),
              ElementsAre("actor game-7 joined with 2 agents",
                          "actor game-7, agent 3 of model npc: NaN at place 1 (the same of 1 more "
                          "agents)",
                          "actor game-7, model npc: 41 % are never sent"));
  actor.troubles[1].sentence = "42 % are never sent";
  book.chronicle.NoteActors({actor}, kSecond);
  EXPECT_THAT(book.Take(), IsEmpty());
}

TEST(Chronicle, AWaitIsToldOnceAMinute) {
  Book book;
  book.chronicle.NoteWaiting("npc", "", kSecond);
  for (int i = 0; i < 59; ++i) book.chronicle.NoteWaiting("npc", "npc waits", (2 + i) * kSecond);
  book.chronicle.NoteWaiting("scout", "scout waits", 3 * kSecond);
  EXPECT_THAT(book.Take(), ElementsAre("npc waits", "scout waits"));
  book.chronicle.NoteWaiting("npc", "npc still waits", 62 * kSecond);
  EXPECT_THAT(book.Take(), ElementsAre("npc still waits"));
}

TEST(Chronicle, StrangersWithoutEndTakeBoundedMemory) {
  Book book;
  for (int i = 0; i < 20000; ++i) {
    book.chronicle.NoteReply(Refused("peer-" + std::to_string(i), "bad"), i);
  }
  EXPECT_LE(book.chronicle.peers(), 4096u);
}

}  // namespace
}  // namespace murmurate
