// RankWatch with a clock of its own, over ranks that are looked after in turns.
#include "server/parameters/rank_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/parameters/threads_collective.h"

namespace murmurate {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::int64_t kSecond = 1'000'000'000;

class RankWatchTest : public testing::Test {
 protected:
  RankWatchTest() {
    for (int rank = 0; rank < 4; ++rank) {
      watches.push_back(std::make_unique<RankWatch>(ranks[static_cast<std::size_t>(rank)].get(),
                                                    [this] { return now_ns; }));
      watches.back()->SayTo([this, rank](const std::string& sentence) {
        said[static_cast<std::size_t>(rank)].push_back(sentence);
      });
      watches.back()->Configure({.patience_ns = 30 * kSecond, .limit_ns = 100 * kSecond});
    }
  }

  /// All ranks come to a meeting, and leave it.
  void Meet(const RankMeeting& meeting) {
    for (const auto& watch : watches) watch->Begin(meeting);
    for (const auto& watch : watches) watch->End();
  }
  void Begin(std::initializer_list<int> those, const RankMeeting& meeting) {
    for (const int rank : those) watches[static_cast<std::size_t>(rank)]->Begin(meeting);
  }
  /// Those ranks wait, and look each 100 ms. The last status of the first of them.
  Status Wait(std::initializer_list<int> those, std::int64_t seconds) {
    Status last;
    for (std::int64_t i = 0; i < 10 * seconds; ++i) {
      now_ns += kSecond / 10;
      for (const int rank : those) {
        const Status status = watches[static_cast<std::size_t>(rank)]->Poll();
        if (rank == *those.begin()) last = status;
      }
    }
    return last;
  }

  std::int64_t now_ns = 1000 * kSecond;
  std::vector<std::unique_ptr<Collective>> ranks = ThreadsCollective::Make(4);
  std::vector<std::unique_ptr<RankWatch>> watches;
  std::vector<std::vector<std::string>> said{4};
};

TEST_F(RankWatchTest, NamesTheOneThatHasNotComeAndAgainAsLater) {
  Meet({.batch = 811});
  Begin({0, 1, 2}, {.batch = 812});
  EXPECT_EQ(Wait({0, 1, 2}, 29).message(), "");
  EXPECT_THAT(said[0], IsEmpty());
  (void)Wait({0, 1, 2}, 2);
  for (const std::size_t rank : {0u, 1u, 2u})
    EXPECT_THAT(said[rank],
                ElementsAre("rank 3 on host d has not joined batch 812; last heard 30 s ago"));
  (void)Wait({0, 1, 2}, 30);
  EXPECT_THAT(said[0], ElementsAre(testing::_,
                                   "rank 3 on host d has not joined batch 812; last "
                                   "heard 60 s ago"));
}

TEST_F(RankWatchTest, DoesNotNameOneThatHasJustCome) {
  Begin({0, 1}, {.batch = 1, .step = 5});
  (void)Wait({0, 1}, 29);
  Begin({2}, {.batch = 1, .step = 5});  // and answers
  (void)Wait({0, 1, 2}, 2);
  EXPECT_THAT(said[0], ElementsAre("rank 3 on host d has not joined step 5 of batch 1; last heard "
                                   "30 s ago"));
  EXPECT_THAT(said[2], IsEmpty()) << "it has not waited for long";
}

TEST_F(RankWatchTest, CountsWhatARankHasToldBeforeItWasMissing) {
  Begin({0, 3}, {.batch = 1});
  (void)Wait({0, 3},
             20);  // rank 3 tells that it waits, then ends this wait and is never heard of again
  for (const auto& watch : watches) watch->End();
  Begin({0}, {.batch = 2});
  (void)Wait({0}, 30);
  EXPECT_THAT(said[0],
              testing::Contains("rank 3 on host d has not joined batch 2; last heard 30 s ago"));
}

TEST_F(RankWatchTest, SaysThatNoneIsMissingWhereTheWorkDoesNotEnd) {
  Begin({0, 1, 2, 3}, {.batch = 7, .step = RankMeeting::kEnd});
  (void)Wait({0, 1, 2, 3}, 31);
  EXPECT_THAT(said[0], ElementsAre("all ranks have joined the end of batch 7, and it has not ended "
                                   "for 30 s"));
}

TEST_F(RankWatchTest, FailsAfterTheLimitAndNeverWithoutOne) {
  Begin({0, 1}, {.batch = 3});
  EXPECT_EQ(Wait({0, 1}, 99).message(), "");
  const Status status = Wait({0, 1}, 2);
  EXPECT_EQ(status.code(), StatusCode::kResource);
  EXPECT_EQ(status.message(),
            "the ranks cannot go on together (rank 2 on host c has not joined batch 3; last heard "
            "101 s ago); start the job again, with `murmurate resume`");
  watches[0]->Configure({.patience_ns = 30 * kSecond, .limit_ns = 0});
  EXPECT_EQ(Wait({0}, 200).message(), "");
}

TEST_F(RankWatchTest, DoesNotCountTheTimeInWhichItsOwnProcessWasStopped) {
  Begin({0}, {.batch = 3});
  (void)Wait({0}, 20);
  now_ns += 3600 * kSecond;
  EXPECT_EQ(Wait({0}, 9).message(), "");
  EXPECT_THAT(said[0], IsEmpty());
  (void)Wait({0}, 2);
  EXPECT_THAT(said[0],
              testing::Contains("rank 1 on host b has not joined batch 3; last heard 30 s ago"));
}

TEST_F(RankWatchTest, SendsNothingWhileNoneWaitsForLong) {
  for (std::uint64_t batch = 1; batch < 20; ++batch) {
    Begin({0, 1, 2, 3}, {.batch = batch});
    (void)Wait({0, 1, 2, 3}, 14);
    for (const auto& watch : watches) watch->End();
  }
  for (const auto& rank : ranks) EXPECT_FALSE((*rank->NextPost()).has_value());
}

}  // namespace
}  // namespace murmurate
