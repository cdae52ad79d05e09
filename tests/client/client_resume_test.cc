// What a client does while its learner is away and comes back: over real sockets.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/client/game.h"

namespace murmurate {
namespace {

constexpr int kLength = 16;

/// A game that a thread of its own plays in lock-step until it is told to end.
class LockstepGame {
 public:
  explicit LockstepGame(const std::string& address)
      : client_(MustConnect(address,
                            {.pace = Pace::kLockstep, .without_policy = WithoutPolicy::kWait})),
        game_(*client_),
        thread_([this] {
          while (!over_) game_.Step(), steps_ = game_.life.size();
        }) {}
  /// Somebody must let it play on.
  ~LockstepGame() {
    over_ = true;
    thread_.join();
  }
  std::size_t steps() const { return steps_; }
  Client& client() { return *client_; }

 private:
  std::unique_ptr<Client> client_;
  Game game_;
  std::atomic<bool> over_{false};
  std::atomic<std::size_t> steps_{0};
  std::thread thread_;
};

TestLearnerOptions Options(std::uint64_t incarnation) {
  const std::uint64_t version = incarnation > 100 ? 2 : 0;
  return {.trajectory_length = kLength,
          .outstanding = 2,
          .batch = 2,
          .incarnation = incarnation,
          .resumed = incarnation > 100,
          .release = false,
          .version = version};
}

TEST(Client, InLockstepItWaitsForALearnerThatComesBackAndGoesOnWhereItWas) {
  const std::string address = FreshAddress();
  auto learner = std::make_unique<TestLearner>(address, Options(100));
  LockstepGame game(address);
  ASSERT_TRUE(Until([&] { learner->PollOnce(); }, [&] { return learner->knows("default"); }));
  learner->Publish("default", 1);
  ASSERT_TRUE(Until([&] { learner->PollOnce(); }, [&] { return learner->received.size() == 2; }));
  learner->session().StopGranting();
  learner->Publish("default", 2);
  learner->Release(2, 2);
  learner->SayGoaway(true, 60'000);
  ASSERT_TRUE(Until([&] { learner->PollOnce(); },
                    [&] { return game.client().State().state == ClientState::kDegraded; }));
  learner.reset();

  TestLearner resumed(address, Options(101));
  ASSERT_TRUE(Until([&] { resumed.PollOnce(); }, [&] { return resumed.knows("default"); }));
  resumed.Publish("default", 2);
  ASSERT_TRUE(Until([&] { resumed.PollOnce(); }, [&] { return resumed.received.size() == 2; }));
  EXPECT_EQ(resumed.received[0]->view.first_step, 2u * kLength) << "nothing was played meanwhile";
  EXPECT_EQ(resumed.received[0]->metadata.incarnation, 101u);
  EXPECT_EQ(resumed.received[0]->view.version, 2u);
  EXPECT_EQ(game.client().Stats().steps_dropped, 0u);
  EXPECT_FALSE(game.client().should_stop());
  resumed.SayGoaway(false);
  EXPECT_TRUE(Until([&] { resumed.PollOnce(); }, [&] { return game.client().should_stop(); }));
}

TEST(Client, InLockstepItWaitsNoLongerThanItWasAsked) {
  const std::string address = FreshAddress();
  TestLearner learner(address, Options(100));
  LockstepGame game(address);
  ASSERT_TRUE(Until([&] { learner.PollOnce(); }, [&] { return learner.knows("default"); }));
  learner.Publish("default", 1);
  ASSERT_TRUE(Until([&] { learner.PollOnce(); }, [&] { return learner.received.size() == 2; }));
  const std::size_t before = game.steps();
  learner.SayGoaway(true, 300);
  const std::int64_t said_ns = MonotonicNs();
  ASSERT_TRUE(Until([&] { learner.PollOnce(); }, [&] { return game.steps() > before + kLength; }));
  EXPECT_GE(MonotonicNs() - said_ns, 300 * kNanosecondsPerMillisecond);
}

TEST(Client, SaysWhatIsSafeAndWhatWasLost) {
  const std::string address = FreshAddress();
  auto learner = std::make_unique<TestLearner>(address, TestLearnerOptions{});
  auto client = MustConnect(address);
  Game game(*client);
  ASSERT_TRUE(Until([&] { learner->PollOnce(); }, [&] { return learner->knows("default"); }));
  learner->Publish("default", 1);
  const auto play = [&](TestLearner& with, std::size_t trajectories) {
    return Until([&] { game.Step(), with.PollOnce(); },
                 [&] { return with.received.size() >= trajectories; });
  };
  ASSERT_TRUE(play(*learner, 3));
  std::vector<wire::ServerSession::Position> marks;
  learner->session().CopyPositions(0, &marks);
  SavedState state;
  learner->session().Save(0, marks, StateWriter(&state, "session"));
  learner->session().Commit(0, marks);
  ASSERT_TRUE(Until([&] { learner->PollOnce(); },
                    [&] { return client->Stats().trajectories_committed >= 3; }));
  EXPECT_EQ(client->Stats().trajectories_committed, marks.at(0).trajectories);
  EXPECT_EQ(client->Stats().steps_committed, marks.at(0).steps);
  ASSERT_TRUE(play(*learner, learner->received.size() + 2));
  ASSERT_TRUE(Until([&] { learner->PollOnce(); },  // it counts after the learner may have it
                    [&] { return client->Stats().trajectories_sent >= marks.at(0).sequence + 2; }));
  const std::uint64_t sent = client->Stats().trajectories_sent;
  learner.reset();

  TestLearner resumed(address, Options(101));
  const auto knows = [&] { return resumed.knows("default"); };
  resumed.load = state;
  ASSERT_TRUE(Until([&] { game.Step(), resumed.PollOnce(); }, knows));
  ASSERT_TRUE(Until([&] { game.Step(), resumed.PollOnce(); },
                    [&] { return client->Stats().trajectories_lost > 0; }));
  EXPECT_GE(client->Stats().trajectories_lost, sent - marks.at(0).sequence);
  EXPECT_EQ(resumed.session().lost_trajectories(), client->Stats().trajectories_lost);
}

}  // namespace
}  // namespace murmurate
