// Ingest against the other threads of a learner: the one that learns, and whoever asks for a
// report.
#include <atomic>
#include <thread>

#include "tests/ingest/stage.h"

namespace murmurate {
namespace {

Shipment Ordinary(float base) {
  return MakeShipment(TrajectoryLayout(StageSpaces(), kStageLength), kStageLength, base);
}

/// The learning thread in the order of LearnLoop: learn, new version, batch back, counted done,
/// wake.
class LearningThread {
 public:
  template <typename Look>
  LearningThread(Stage& stage, Look look)
      : thread_([this, &stage, look] {
          ExperienceChannel& channel = stage.channel();
          while (!stop_) {
            auto batch = channel.ready.Pop(std::chrono::milliseconds(10));
            if (!batch) continue;
            look(**batch, channel);
            const std::size_t count = (*batch)->trajectories.size();
            channel.version += 1;
            (void)channel.empty.TryPush(std::move(*batch));
            channel.credit += count;
            stage.ingest->Wake();
          }
        }) {}
  ~LearningThread() {
    stop_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

TEST(IngestThreads, ABatchIsNeverAheadOfTheCountOfItsSteps) {
  Stage stage({.batch_trajectories = 1});
  auto actor = stage.NewLiveActor(1);
  std::atomic<std::uint64_t> taken{0};
  std::atomic<int> behind{0};
  LearningThread learner(stage, [&](const TrainingBatch&, ExperienceChannel& channel) {
    taken += kStageLength;
    behind += channel.environment_steps < taken;
  });
  std::uint64_t shipped = 0;
  ASSERT_TRUE(stage.Until(*actor, [&] {
    const std::uint64_t granted =
        std::max(actor->welcome->models[0].steps_total,
                 actor->accepted.models.empty() ? 0 : actor->accepted.models[0].steps_total);
    for (; shipped + kStageLength <= granted; shipped += kStageLength) actor->Ship(Ordinary(1));
    return taken >= 1000 * kStageLength;
  }));
  EXPECT_EQ(behind, 0);
}

TEST(IngestThreads, LockstepCreditNamesTheVersionTrainedOnTheBatchBefore) {
  Stage stage({.batch_trajectories = 1});
  auto actor = stage.NewLiveActor(1, 1, Pace::kLockstep);
  std::atomic<int> batches{0};
  LearningThread learner(stage, [&](const TrainingBatch&, ExperienceChannel&) { ++batches; });
  std::uint64_t shipped = 0, wrong = 0;
  ASSERT_TRUE(stage.Until(*actor, [&] {
    wire::ModelCredit credit{actor->welcome->models[0].steps_total,
                             actor->welcome->models[0].at_version, 0};
    if (!actor->accepted.models.empty()) credit = actor->accepted.models[0];
    if (credit.steps_total > shipped) {
      // Version 1 is the first; every batch is one trajectory and makes one version.
      wrong += credit.at_version != credit.steps_total / kStageLength;
      actor->Ship(Ordinary(1));
      shipped += kStageLength;
    }
    return batches >= 300;
  }));
  EXPECT_EQ(wrong, 0u);
}

TEST(IngestThreads, AReportMayBeTakenWhileIngestWorks) {
  Stage stage({});
  auto actor = stage.NewLiveActor(1);
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> reports{0};
  std::thread reader([&] {
    std::uint64_t last = 0;
    while (!stop) {
      const Ingest::Report report = stage.ingest->CollectReport();
      EXPECT_GE(report.messages, last);
      last = report.messages;
      for (const auto& known : report.actors) EXPECT_LE(known.name.size(), 64u);
      ++reports;
    }
  });
  std::uint64_t next = 2;
  EXPECT_TRUE(stage.Until(*actor, [&] {
    for (int i = 0; i < 8; ++i) actor->Ship(Ordinary(1));
    if (next < 40) (void)stage.NewLiveActor(next++);
    return next == 40 && reports > 100;
  }));
  stop = true;
  reader.join();
}

TEST(IngestThreads, AWakeBeforeTheWaitIsNotLost) {
  Stage stage({});
  stage.ingest->PollOnce(0);
  stage.ingest->Wake();
  const std::int64_t start = MonotonicNs();
  stage.ingest->PollOnce(20'000);
  EXPECT_LT(MonotonicNs() - start, 10 * kNanosecondsPerSecond);
}

}  // namespace
}  // namespace murmurate
