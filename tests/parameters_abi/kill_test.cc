// Programs of one's own around shards, and kill -9: no push that was answered is lost, and none
// counts twice. Each push adds one to every number of the center (counting_worker.c).
// scripts/kill-matrix.sh repeats it: MURMURATE_KILLS says how many.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "tests/server/process.h"

namespace murmurate {
namespace {

constexpr double kPatience = 60;

int Kills() {
  const char* const given = std::getenv("MURMURATE_KILLS");
  return given != nullptr ? std::atoi(given) : 3;
}

class OwnProgramsKilled : public testing::Test {
 protected:
  OwnProgramsKilled() {
    const unsigned seed = std::random_device()();
    random_.seed(seed);
    std::cout << "seed " << seed << '\n';
  }
  std::string AddressOf(int shard) const {
    return "ipc://" + place_.path() + "/s" + std::to_string(shard);
  }
  std::string Addresses() const { return AddressOf(0) + ',' + AddressOf(1); }
  std::unique_ptr<Process> Shard(int index) const {
    return std::make_unique<Process>(
        place_.path(),
        std::vector<std::string>{
            "params", "own-program", "--shard", std::to_string(index), "--stay", "--set",
            "parameters.rule=asgd", "--set", "checkpoint.every_s=0.05", "--set",
            "parameters.shards=[\"" + AddressOf(0) + "\", \"" + AddressOf(1) + "\"]"});
  }
  std::unique_ptr<Process> Worker(int number, long pushes) const {
    return std::make_unique<Process>(
        place_.path(),
        std::vector<std::string>{Addresses(), std::to_string(number), std::to_string(pushes)},
        std::vector<std::string>{MURMURATE_EXAMPLES "/counting_worker"});
  }
  /// Pushes that it says were answered: whole lines alone.
  static long Answered(const Process& worker) {
    const std::string said = worker.Output();
    const std::size_t end = said.rfind('\n');
    if (end == said.npos) return 0;
    const std::size_t begin = end == 0 ? said.npos : said.rfind('\n', end - 1);
    return std::stol(said.substr(begin == said.npos ? 0 : begin + 1));
  }
  bool PushesBeyond(const Process& worker, long count) const {
    return Eventually(kPatience, [&] { return Answered(worker) > count; });
  }
  void AwaitSomeMoment() {
    (void)Eventually(0.1 * static_cast<double>(random_()) / 4294967296.0, [] { return false; });
  }
  /// The three numbers of the center that a worker which only pulls prints.
  std::vector<double> Center() const {
    const auto reader = Worker(99, 0);
    EXPECT_EQ(reader->Wait(kPatience), 0) << reader->Errors();
    std::istringstream said(reader->Output());
    std::vector<double> numbers;
    for (double number; said >> number;) numbers.push_back(number);
    EXPECT_EQ(numbers.size(), 3u);
    return numbers;
  }
  long StopAndCount(Process& worker) const {
    worker.Send(SIGINT);
    EXPECT_EQ(worker.Wait(kPatience), 0) << worker.Errors();
    return Answered(worker);
  }

  Workplace place_;
  std::mt19937 random_;
};

TEST_F(OwnProgramsKilled, OfAWorkerAllThatWasAnsweredCountsAndItsNumberIsFreeAgain) {
  const auto first = Shard(0), second = Shard(1);
  const auto stays = Worker(0, 1'000'000);
  ASSERT_TRUE(PushesBeyond(*stays, 10)) << stays->Errors();
  long answered = 0;
  const int kills = Kills();
  for (int i = 1; i <= kills; ++i) {
    const bool again = i == kills;  // with the number of the one before: it waits for 3 s
    const auto dies = Worker(again ? i - 1 : i, 1'000'000);
    ASSERT_TRUE(PushesBeyond(*dies, 10)) << dies->Errors() << first->Errors();
    AwaitSomeMoment();
    dies->Send(SIGKILL);
    ASSERT_EQ(dies->Wait(kPatience), 128 + SIGKILL);
    answered += Answered(*dies);
    const long before = Answered(*stays);
    ASSERT_TRUE(PushesBeyond(*stays, before)) << "without a worker that died";
  }
  answered += StopAndCount(*stays);
  for (const double number : Center()) {
    EXPECT_GE(number, static_cast<double>(answered));
    EXPECT_LE(number, static_cast<double>(answered + kills + 1)) << "one under way at each death";
  }
  for (Process* shard : {first.get(), second.get()}) {
    shard->Send(SIGTERM);
    EXPECT_EQ(shard->Wait(kPatience), 0) << shard->Errors();
  }
  EXPECT_EQ(place_.LeftBehind(), "");
}

TEST_F(OwnProgramsKilled, OfAShardAllThatWasAnsweredCountsOnce) {
  std::unique_ptr<Process> shards[] = {Shard(0), Shard(1)};
  constexpr long kPushes = 5'000;
  const auto first = Worker(0, 1'000'000), second = Worker(1, 1'000'000);
  for (int i = 0; i < Kills(); ++i) {
    const int victim = static_cast<int>(random_() % 2);
    const long before = Answered(*first), beside = Answered(*second);
    ASSERT_TRUE(PushesBeyond(*first, before + kPushes / 50)) << first->Errors();
    ASSERT_TRUE(PushesBeyond(*second, beside + kPushes / 50)) << second->Errors();
    AwaitSomeMoment();
    shards[victim]->Send(SIGKILL);
    ASSERT_EQ(shards[victim]->Wait(kPatience), 128 + SIGKILL);
    shards[victim] = Shard(victim);
  }
  const long before = Answered(*first);
  ASSERT_TRUE(PushesBeyond(*first, before + kPushes / 50)) << first->Errors();
  const long answered = StopAndCount(*first) + StopAndCount(*second);
  for (const double number : Center()) {
    EXPECT_GE(number, static_cast<double>(answered))
        << place_.Read("runs/own-program-shard-0/log.txt")
        << place_.Read("runs/own-program-shard-1/log.txt");
    EXPECT_LE(number, static_cast<double>(answered + 2)) << "one under way when each was stopped";
  }
  for (const auto& shard : shards) {
    shard->Send(SIGTERM);
    EXPECT_EQ(shard->Wait(kPatience), 0) << shard->Errors();
  }
  EXPECT_EQ(place_.LeftBehind(), "");
}

}  // namespace
}  // namespace murmurate
