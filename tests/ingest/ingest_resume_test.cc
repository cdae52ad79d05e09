// What ingest saves in a checkpoint, tells its actors of it, and goes on from.
#include <gtest/gtest.h>

#include "tests/ingest/stage.h"

namespace murmurate {
namespace {

Shipment Played() {
  return MakeShipment(TrajectoryLayout(StageSpec(StageSpaces()), kStageLength), kStageLength, 1);
}

/// Of the only sender that was saved: id, sequence, trajectories, steps.
std::vector<std::uint64_t> SavedSender(const SavedState& state) {
  const auto& words = state.words.at("session.senders");
  if (words.size() < 4) return {};
  return {words.begin(), words.begin() + 4};
}

TEST(IngestResume, ACheckpointMarksWhatItsBatchesHoldAndNoMore) {
  Stage stage({.batch_trajectories = 2});
  auto actor = stage.NewLiveActor(5);
  SavedState state;
  stage.ingest->Save("default", 0, StateWriter(&state, "session"));
  EXPECT_TRUE(SavedSender(state).empty()) << "nothing has been trained on";

  for (int i = 0; i < 3; ++i) actor->Ship(Played());
  ASSERT_TRUE(stage.Until(*actor, [&] { return actor->accepted.sequence == 3; }));
  auto batch = stage.PopBatch();
  ASSERT_NE(batch, nullptr);
  stage.ingest->Save("default", 1, StateWriter(&state, "session"));
  EXPECT_EQ(SavedSender(state), (std::vector<std::uint64_t>{5, 2, 2, 8}))
      << "the third waits in the next batch";
  EXPECT_TRUE(actor->committed.empty());
  stage.ingest->Commit("default", StateReader(state, "session"));
  ASSERT_TRUE(stage.Until(*actor, [&] { return !actor->committed.empty(); }));
  EXPECT_EQ(actor->committed[0].sequence, 2u);
  EXPECT_EQ(actor->committed[0].steps, 8u);

  stage.ReturnUnused(std::move(batch));
  actor->Ship(Played());
  ASSERT_TRUE(stage.Until(*actor, [&] { return stage.channel().ready.size() == 1; }));
  stage.ingest->Save("default", 2, StateWriter(&state, "session"));
  EXPECT_EQ(SavedSender(state), (std::vector<std::uint64_t>{5, 4, 4, 16}));
}

TEST(IngestResume, GoesOnFromWhatWasSavedBeforeAnybodyComes) {
  SavedState state;
  {
    Stage stage({.batch_trajectories = 2});
    auto actor = stage.NewLiveActor(5);
    for (int i = 0; i < 3; ++i) actor->Ship(Played());
    ASSERT_TRUE(stage.Until(*actor, [&] { return actor->accepted.sequence == 3; }));
    stage.ingest->Save("default", 1, StateWriter(&state, "session"));
  }
  SocketContext context;
  IngestOptions options;
  options.listen = {"tcp://127.0.0.1:*"};
  options.incarnation = 78;
  options.resumed = true;
  auto ingest = Ingest::Open(context, options, [](const std::string&, const Spaces&) {
    return Result<OfferedModel>(InvalidArgument("no new models"));
  });
  ASSERT_TRUE(ingest.ok());
  OfferedModel offered;
  offered.channel = std::make_shared<ExperienceChannel>(StageSpec(StageSpaces()), kStageLength, 2);
  const Status added = (*ingest)->AddModel("default", offered, StateReader(state, "session"));
  ASSERT_TRUE(added.ok()) << added;
  EXPECT_EQ(offered.channel->environment_steps, 12u) << "its schedules go on";
  SavedState again;
  (*ingest)->Save("default", 0, StateWriter(&again, "session"));
  EXPECT_EQ(again, state) << "saved again before it learned, nothing is forgotten";
  EXPECT_TRUE((*ingest)->AtBorder());
}

}  // namespace
}  // namespace murmurate
