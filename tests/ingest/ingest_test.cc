#include "server/ingest/ingest.h"

#include <limits>

#include "tests/ingest/stage.h"

namespace murmurate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<float> Floats(std::span<const float> column) { return {column.begin(), column.end()}; }

TrajectoryLayout LayoutOf(const Spaces& spaces) { return TrajectoryLayout(spaces, kStageLength); }

Shipment StageShipment(int steps, float base, std::vector<EpisodeRecord> episodes = {}) {
  return MakeShipment(LayoutOf(StageSpaces()), steps, base, std::move(episodes));
}

std::string IpcAddress(const std::string& name) {
  Result<std::string> folder = RuntimeFolder();
  EXPECT_TRUE(folder.ok()) << folder.status().message();
  return "ipc://" + *folder + "/" + name;
}

/// Leaves no folder behind.
struct Sweep : ::testing::Environment {
  void TearDown() override { RemoveRuntimeFolder(); }
};
const auto* const kSweep = ::testing::AddGlobalTestEnvironment(new Sweep);

class IngestOver : public ::testing::TestWithParam<std::string> {
 protected:
  Stage::Settings Listening() const {
    return {.listen = {GetParam() == "ipc" ? IpcAddress("ingest-test") : "tcp://127.0.0.1:*"}};
  }
};
INSTANTIATE_TEST_SUITE_P(Transports, IngestOver, ::testing::Values("ipc", "tcp"),
                         [](const auto& transport) { return transport.param; });

TEST_P(IngestOver, ExactContentArrivesInTheColumns) {
  Stage stage(Listening());
  auto actor = stage.NewLiveActor(1);
  ASSERT_TRUE(actor->welcome.has_value());
  EXPECT_EQ(actor->welcome->models.at(0).trajectory_length, 4u);
  EXPECT_EQ(actor->welcome->models[0].version, 1u);

  Shipment cut = StageShipment(4, 5, {{12.5, 3, 0}});
  const auto flags = cut.ColumnAs<std::uint8_t>(Column::kFlags);
  flags[0] = kFirst;
  flags[2] = kTruncatedFlag;
  flags[3] = kFirst;
  const TrajectoryLayout layout = LayoutOf(StageSpaces());
  const ColumnRange& finals = layout.column(Column::kFinalObservation);
  cut.metadata.columns[static_cast<int>(Column::kFinalObservation)] = {finals.offset, 8};
  cut.block.resize(std::max<std::size_t>(cut.block.size(), finals.offset + 64));
  cut.ColumnAs<float>(Column::kFinalObservation)[0] = 70;
  cut.ColumnAs<float>(Column::kFinalObservation)[1] = 71;
  cut.metadata.version = 1;
  actor->Ship(std::move(cut));
  actor->Ship(StageShipment(2, 20));

  std::unique_ptr<TrainingBatch> batch;
  ASSERT_TRUE(stage.Until(*actor, [&] { return (batch = stage.PopBatch()) != nullptr; }));
  EXPECT_THAT(Floats(batch->observation), ElementsAre(5, -5, 6, -6, 7, -7, 8, -8,  //
                                                      20, -20, 21, -21, 0, 0, 0, 0));
  EXPECT_THAT(Floats(batch->reward), ElementsAre(50, 60, 70, 80, 200, 210, 0, 0));
  EXPECT_THAT(Floats(batch->weight), ElementsAre(1, 1, 1, 1, 1, 1, 0, 0));
  EXPECT_EQ(batch->action[1], 1);
  EXPECT_EQ(batch->log_prob[3], -3.5f);
  EXPECT_EQ(batch->flags[2], kTruncatedFlag);
  EXPECT_EQ(batch->next_observation[0], 9);
  EXPECT_THAT(batch->final_row, ElementsAre(2));
  EXPECT_EQ(batch->final_observation[1], 71);
  EXPECT_EQ(batch->trajectories[0].version, 1u);
  EXPECT_EQ(batch->trajectories[1].first_step, 4u);
  EXPECT_EQ(batch->trajectories[1].steps, 2);
  ASSERT_EQ(batch->episodes.size(), 1u);
  EXPECT_EQ(batch->episodes[0].raw_return, 12.5);
  EXPECT_EQ(stage.channel().environment_steps, 6u);
  EXPECT_EQ(stage.channel().received_trajectories, 2u);
}

TEST_P(IngestOver, ADuplicateIsAcknowledgedAndTrainedOnOnce) {
  Stage stage(Listening());
  auto actor = stage.NewLiveActor(1);
  actor->Ship(StageShipment(4, 1));
  actor->Ship(StageShipment(4, 1), 0, 0, /*sequence=*/1);
  ASSERT_TRUE(stage.Until(*actor, [&] { return stage.ingest->CollectReport().duplicates == 1; }));
  EXPECT_EQ(stage.PopBatch(), nullptr);
  EXPECT_EQ(stage.channel().received_trajectories, 1u);
  EXPECT_TRUE(stage.Until(*actor, [&] { return actor->accepted.sequence == 1; }));
}

TEST_P(IngestOver, OneSessionPlaysTwoModelsWithDifferentSpaces) {
  Stage stage(Listening());
  const Spaces wide{Box({3}), Discrete(5)};
  auto actor = stage.NewActor(1);
  stage.Greet(*actor, {{"scout", StageSpaces()}, {"npc", wide}});
  ASSERT_EQ(actor->welcome->models.size(), 2u);
  for (int i = 0; i < 2; ++i) {
    actor->Ship(StageShipment(4, 1), 0, 0);
    actor->Ship(MakeShipment(LayoutOf(wide), 4, 50), 0, 1);
  }
  std::unique_ptr<TrainingBatch> scout, npc;
  ASSERT_TRUE(stage.Until(*actor, [&] {
    if (scout == nullptr) scout = stage.PopBatch("scout");
    if (npc == nullptr) npc = stage.PopBatch("npc");
    return scout != nullptr && npc != nullptr;
  }));
  EXPECT_EQ(scout->observation[0], 1);
  EXPECT_EQ(npc->layout.row_words(), 3u);
  EXPECT_EQ(npc->observation[0], 50);
  EXPECT_TRUE(actor->errors.empty());
}

TEST(Ingest, OtherSpacesAreRefusedWithTheFirstDifference) {
  Stage stage({});
  auto first = stage.NewLiveActor(1);
  auto other = stage.NewActor(2, "stranger");
  stage.Greet(*other, {{"default", Spaces{Box({2}), Discrete(3)}}});
  ASSERT_EQ(other->errors.size(), 1u);
  EXPECT_EQ(other->errors[0].refusal, wire::Refusal::kSpaces);
  EXPECT_THAT(other->errors[0].sentence,
              HasSubstr("model default: action: expected discrete 2, got discrete 3"));
  EXPECT_FALSE(other->welcome.has_value());
}

TEST(Ingest, WhyTheLearnerMakesNoModelReachesTheActor) {
  Stage stage({});
  auto actor = stage.NewActor(1);
  stage.Greet(*actor, {{"forbidden", StageSpaces()}});
  ASSERT_EQ(actor->errors.size(), 1u);
  EXPECT_THAT(actor->errors[0].sentence, HasSubstr("model forbidden is not for you"));
}

TEST(Ingest, EpisodesWithoutStepsTakeNoPlace) {
  Stage stage({});
  auto actor = stage.NewLiveActor(1);
  actor->Ship(StageShipment(0, 0, {{3.0, 9, 1}}));
  actor->Ship(StageShipment(4, 1));
  actor->Ship(StageShipment(4, 5));
  std::unique_ptr<TrainingBatch> batch;
  ASSERT_TRUE(stage.Until(*actor, [&] { return (batch = stage.PopBatch()) != nullptr; }));
  EXPECT_EQ(batch->trajectories.size(), 2u);
  ASSERT_EQ(batch->episodes.size(), 1u);
  EXPECT_EQ(batch->episodes[0].length, 9u);
  EXPECT_EQ(batch->episodes[0].mode, 1u);
}

TEST(Ingest, EpisodesPlayedToEvaluateArePassedOnWithoutABatch) {
  std::vector<std::pair<std::string, EpisodeRecord>> heard;
  Stage::Settings settings;
  settings.on_evaluated = [&](const std::string& model, std::span<const EpisodeRecord> episodes) {
    for (const EpisodeRecord& episode : episodes) heard.emplace_back(model, episode);
  };
  Stage stage(std::move(settings));
  auto actor = stage.NewLiveActor(1);
  actor->Ship(StageShipment(4, 1, {{5.0, 7, 0}}));  // trained on: none of its business
  actor->Ship(StageShipment(0, 0, {{3.0, 9, 1}, {4.0, 8, 1}}));
  ASSERT_TRUE(stage.Until(*actor, [&] { return heard.size() == 2; }));
  EXPECT_EQ(heard[0].first, "default");
  EXPECT_EQ(heard[0].second.raw_return, 3.0);
  EXPECT_EQ(heard[1].second.length, 8u);
}

TEST(Ingest, BlocksWaitInOrderWhileEveryBatchIsWithTheLearner) {
  Stage stage({});
  auto actor = stage.NewLiveActor(1);
  ASSERT_TRUE(stage.Until(*actor, [&] { return stage.channels.contains("default"); }));
  std::vector<std::unique_ptr<TrainingBatch>> held;
  for (int i = 0; i < stage.channel().batches; ++i) {
    held.push_back(std::move(*stage.channel().empty.TryPop()));
  }
  for (int i = 0; i < 2; ++i) actor->Ship(StageShipment(4, static_cast<float>(10 * i)));
  ASSERT_TRUE(stage.Until(*actor, [&] { return stage.ingest->CollectReport().messages == 3; }));
  EXPECT_EQ(stage.PopBatch(), nullptr);
  EXPECT_EQ(actor->accepted.sequence, 0u) << "not dealt with yet";

  stage.ReturnUnused(std::move(held.back()));
  std::unique_ptr<TrainingBatch> batch;
  ASSERT_TRUE(stage.Until(*actor, [&] { return (batch = stage.PopBatch()) != nullptr; }));
  EXPECT_THAT(Floats(batch->reward), ElementsAre(0, 10, 20, 30, 100, 110, 120, 130));
  EXPECT_TRUE(stage.Until(*actor, [&] { return actor->accepted.sequence == 2; }));
}

TEST(Ingest, ABadNumberIsRefusedAtOnceEvenWhileEveryBatchIsWithTheLearner) {
  Stage stage({});
  auto actor = stage.NewLiveActor(1);
  ASSERT_TRUE(stage.Until(*actor, [&] { return stage.channels.contains("default"); }));
  std::vector<std::unique_ptr<TrainingBatch>> held;
  for (int i = 0; i < stage.channel().batches; ++i) {
    held.push_back(std::move(*stage.channel().empty.TryPop()));
  }
  Shipment poisoned = StageShipment(4, 0);
  poisoned.ColumnAs<float>(Column::kObservation)[3] = std::numeric_limits<float>::infinity();
  actor->Ship(std::move(poisoned));
  const auto refused = static_cast<std::size_t>(wire::Refusal::kNotFinite);
  EXPECT_TRUE(
      stage.Until(*actor, [&] { return stage.ingest->CollectReport().refusals.at(refused) == 1; }));

  actor->Ship(StageShipment(4, 10));
  actor->Ship(StageShipment(4, 20));
  stage.ReturnUnused(std::move(held.back()));
  std::unique_ptr<TrainingBatch> batch;
  ASSERT_TRUE(stage.Until(*actor, [&] { return (batch = stage.PopBatch()) != nullptr; }));
  EXPECT_THAT(Floats(batch->reward), ElementsAre(100, 110, 120, 130, 200, 210, 220, 230));
}

TEST(Ingest, TheLearnersProgressIsGrantedAgain) {
  Stage stage({});
  auto actor = stage.NewLiveActor(1);
  // Two batches of two trajectories of four steps may be outstanding.
  ASSERT_TRUE(stage.Until(*actor, [&] {
    return actor->welcome->models[0].steps_total == 16 ||
           (!actor->accepted.models.empty() && actor->accepted.models[0].steps_total == 16);
  }));
  actor->Ship(StageShipment(4, 1));
  actor->Ship(StageShipment(4, 5));
  std::unique_ptr<TrainingBatch> batch;
  ASSERT_TRUE(stage.Until(*actor, [&] { return (batch = stage.PopBatch()) != nullptr; }));
  stage.ReturnUnused(std::move(batch));
  EXPECT_TRUE(stage.Until(*actor, [&] {
    return !actor->accepted.models.empty() && actor->accepted.models[0].steps_total == 24 &&
           actor->accepted.models[0].version == 2;
  }));
}

TEST(Ingest, AnOldBatchClosesOnceEveryLiveAgentGaveTwoTrajectories) {
  Stage stage({.batch_trajectories = 8, .max_batch_s = 0.0});
  auto actor = stage.NewLiveActor(1, /*agents=*/2);
  for (int i = 0; i < 2; ++i) actor->Ship(StageShipment(4, 1), /*agent=*/0);
  actor->Ship(StageShipment(4, 2), /*agent=*/1);
  ASSERT_TRUE(stage.Until(*actor, [&] { return actor->accepted.sequence == 3; }));
  stage.ingest->PollOnce(0);
  EXPECT_EQ(stage.PopBatch(), nullptr) << "agent 1 has given one trajectory";
  actor->Ship(StageShipment(4, 6), /*agent=*/1);
  std::unique_ptr<TrainingBatch> batch;
  ASSERT_TRUE(stage.Until(*actor, [&] { return (batch = stage.PopBatch()) != nullptr; }));
  EXPECT_EQ(batch->trajectories.size(), 4u);
  EXPECT_EQ(batch->rows(), 32);
  EXPECT_EQ(batch->weight[16], 0);
}

TEST(Ingest, LockstepBatchesAreSortedAndNoClockClosesThem) {
  Stage stage({.batch_trajectories = 4, .max_batch_s = 0.0});
  auto actor = stage.NewLiveActor(1, /*agents=*/2, Pace::kLockstep);
  for (int i = 0; i < 2; ++i) actor->Ship(StageShipment(4, 50), /*agent=*/1);
  actor->Ship(StageShipment(4, 10), /*agent=*/0);
  ASSERT_TRUE(stage.Until(*actor, [&] { return actor->accepted.sequence == 3; }));
  stage.ingest->PollOnce(0);
  EXPECT_EQ(stage.PopBatch(), nullptr);
  actor->Ship(StageShipment(4, 14), /*agent=*/0);
  std::unique_ptr<TrainingBatch> batch;
  ASSERT_TRUE(stage.Until(*actor, [&] { return (batch = stage.PopBatch()) != nullptr; }));
  EXPECT_EQ(batch->observation[0], 10);
  EXPECT_EQ(batch->observation[4 * 2], 14);
  EXPECT_EQ(batch->observation[8 * 2], 50);
}

TEST(Ingest, AVersionThatWasNeverPublishedIsRefused) {
  Stage stage({});
  auto actor = stage.NewLiveActor(1);
  Shipment shipment = StageShipment(4, 1);
  shipment.metadata.version = 1ull << 60;
  actor->Ship(std::move(shipment));
  ASSERT_TRUE(stage.Until(*actor, [&] { return !actor->errors.empty(); }));
  EXPECT_EQ(actor->errors[0].refusal, wire::Refusal::kMeaning);
  EXPECT_THAT(actor->errors[0].sentence, HasSubstr("version: expected at most 1"));
}

TEST(Ingest, AVersionThatItsChangesMakeOverflowIsRefusedAlsoOfAnotherLife) {
  for (const std::uint64_t incarnation : {StageShipment(4, 1).metadata.incarnation, 1ul}) {
    Stage stage({.resumed = true});
    auto actor = stage.NewLiveActor(1);
    Shipment shipment = StageShipment(4, 1);
    shipment.metadata.incarnation = incarnation;
    shipment.metadata.version = UINT64_MAX;
    ASSERT_TRUE(shipment.metadata.changes.Add(1, 2));  // 2^64 - 1 + 2 would be version 1
    actor->Ship(std::move(shipment));
    ASSERT_TRUE(stage.Until(*actor, [&] { return !actor->errors.empty(); }));
    EXPECT_EQ(actor->errors[0].refusal, wire::Refusal::kMeaning);
    EXPECT_THAT(actor->errors[0].sentence, HasSubstr("got 18446744073709551615"));
  }
}

TEST(Ingest, ListensOnSeveralAddressesWithOneSocket) {
  Stage stage({.listen = {"tcp://127.0.0.1:*", IpcAddress("ingest-both")}});
  auto near = stage.NewActor(1, "near", 1), far = stage.NewActor(2, "far", 0);
  stage.Greet(*near, {{"default", StageSpaces()}});
  stage.Greet(*far, {{"default", StageSpaces()}});
  near->Ship(StageShipment(4, 1));
  far->Ship(StageShipment(4, 5));
  std::unique_ptr<TrainingBatch> batch;
  EXPECT_TRUE(stage.UntilAll({near.get(), far.get()},
                             [&] { return (batch = stage.PopBatch()) != nullptr; }));
}

TEST(Ingest, GoawayReachesEverybody) {
  Stage stage({});
  auto one = stage.NewLiveActor(1), two = stage.NewLiveActor(2);
  stage.ingest->SayGoaway({.reason = "the run is over", .restart_expected = false});
  ASSERT_TRUE(stage.UntilAll({one.get(), two.get()},
                             [&] { return !one->goaways.empty() && !two->goaways.empty(); }));
  EXPECT_EQ(two->goaways[0].reason, "the run is over");
}

TEST(Ingest, ReportNamesTheActors) {
  Stage stage({});
  auto actor = stage.NewLiveActor(9, 3, Pace::kNever, "game-7");
  const Ingest::Report report = stage.ingest->CollectReport();
  ASSERT_EQ(report.actors.size(), 1u);
  EXPECT_EQ(report.actors[0].name, "game-7");
  EXPECT_EQ(report.actors[0].agents, 3);
  EXPECT_EQ(report.messages, 1u);
}

TEST(Ingest, AnAddressInUseIsAnErrorThatNamesIt) {
  Stage stage({});
  IngestOptions options;
  options.listen = stage.ingest->addresses();
  auto second = Ingest::Open(stage.context, options, {});
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), StatusCode::kAlreadyRunning);
  EXPECT_THAT(second.status().message(), HasSubstr(options.listen[0]));
}

TEST(IngestStaleness, WhatComesAfterAQuorumHasClosedItsVersionIsStaleAndItsCreditReturns) {
  Stage stage({.quorum = 0.5});
  auto prompt = stage.NewActor(1), late = stage.NewActor(2);
  bool said_one = false, said_two = false;
  ASSERT_TRUE(stage.UntilAll({prompt.get(), late.get()}, [&] {
    if (!said_one) said_one = prompt->SayHello({{"default", StageSpaces()}});
    if (!said_two) said_two = late->SayHello({{"default", StageSpaces()}});
    return prompt->welcome && late->welcome;
  }));
  Shipment of_one = StageShipment(4, 1);
  of_one.metadata.version = 1;
  // One of them was there first and may hold both parts.
  const auto total = [](const StageActor& actor) {
    return std::max(actor.welcome->models[0].steps_total,
                    actor.accepted.models.empty() ? 0 : actor.accepted.models[0].steps_total);
  };
  StageActor& giver = total(*prompt) > 0 ? *prompt : *late;
  StageActor& other = &giver == prompt.get() ? *late : *prompt;
  for (std::uint64_t i = 0; i < total(giver) / kStageLength; ++i) giver.Ship(of_one);
  std::unique_ptr<TrainingBatch> batch;
  ASSERT_TRUE(stage.UntilAll({prompt.get(), late.get()},
                             [&] { return (batch = stage.PopBatch()) != nullptr; }));
  stage.channel().staleness.Post(batch->trajectories, 4);  // taken up three versions late
  stage.ReturnUnused(std::move(batch));
  ASSERT_TRUE(stage.UntilAll({prompt.get(), late.get()}, [&] {
    return !other.accepted.models.empty() && other.accepted.models[0].at_version == 2 &&
           total(other) > 0;
  }));
  other.Ship(of_one);  // begun before it heard
  ASSERT_TRUE(stage.Until(other, [&] { return !other.errors.empty(); }));
  EXPECT_EQ(other.errors[0].refusal, wire::Refusal::kStale);
  EXPECT_THAT(other.errors[0].sentence, HasSubstr("the batch of version 1 is closed"));
  EXPECT_EQ(stage.channel().refused_late_steps,
            of_one.metadata.steps * (giver.errors.size() + other.errors.size()));
  Shipment of_two = StageShipment(4, 2);
  of_two.metadata.version = 2;
  const std::uint64_t received = stage.channel().received_trajectories;
  other.Ship(of_two);
  EXPECT_TRUE(stage.Until(other, [&] { return stage.channel().received_trajectories > received; }));
  const Ingest::Report report = stage.ingest->CollectReport();
  EXPECT_EQ(report.refusals[static_cast<std::size_t>(wire::Refusal::kStale)],
            giver.errors.size() + other.errors.size());
  std::uint64_t aged = 0;
  for (const auto& actor : report.actors) aged += actor.staleness.counts()[2];
  EXPECT_GE(aged, 1u) << "2-3 versions";
}

TEST(IngestStaleness, WhatAnEarlierLifePlayedClosesNoVersionOfALearnerThatGoesOn) {
  Stage stage({.quorum = 1, .resumed = true});
  auto actor = stage.NewLiveActor(1);
  ASSERT_TRUE(actor->welcome.has_value());
  Shipment before = StageShipment(4, 1);
  before.metadata.incarnation = kStageIncarnation + 1;
  for (const std::uint64_t version : {std::uint64_t{677}, std::uint64_t{1} << 63}) {
    before.metadata.version = version;
    actor->Ship(before);
    ASSERT_TRUE(stage.Until(*actor, [&] { return !actor->errors.empty(); }));
    EXPECT_EQ(actor->errors[0].refusal, wire::Refusal::kStale);
    actor->errors.clear();
  }
  for (std::uint64_t version = 1; version <= 3; ++version) {
    Shipment now = StageShipment(4, 1);
    now.metadata.version = version;
    std::unique_ptr<TrainingBatch> batch;
    for (int i = 0; i < 2; ++i) actor->Ship(now);
    ASSERT_TRUE(stage.Until(
        *actor, [&] { return (batch = stage.PopBatch()) != nullptr || !actor->errors.empty(); }));
    ASSERT_NE(batch, nullptr) << "version " << version << ": " << actor->errors[0].sentence;
    stage.ReturnUnused(std::move(batch));
    ASSERT_TRUE(stage.Until(*actor, [&] {
      return !actor->accepted.models.empty() && actor->accepted.models[0].at_version == version + 1;
    }));
  }
}

}  // namespace
}  // namespace murmurate
