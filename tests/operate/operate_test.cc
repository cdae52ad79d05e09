#include "server/operate/operate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "server/metrics/actor_metrics.h"
#include "server/metrics/csv_file.h"
#include "shared/core/clock.h"
#include "shared/model/safetensors.h"
#include "tests/operate/sample_checkpoint.h"
#include "tests/operate/temporary_folder.h"

namespace murmurate {
namespace {

using ::testing::HasSubstr;

/// An Operate without thread or learner.
struct Fixture {
  explicit Fixture(StopRules stop, const std::vector<OpenSink>& sinks = MetricSinks()) {
    OperateOptions options;
    options.title = "test";
    options.directory = &directory;
    options.display = &display;
    options.stop = stop;
    options.sinks = sinks;
    options.log_interval_s = 3600;
    options.start_ns = MonotonicNs();
    options.admin_address = "ipc://" + folder.path() + "/admin";
    options.actors = [this] { return ActorsView{.actors = actors, .waiting = {}}; };
    options.pause = &pause;
    options.board = &board;
    options.on_end = [this](RunEnd end) { ends.push_back(end); };
    operate = std::move(*Operate::Open(context, std::move(options)));
  }
  /// `count` episodes of the same return.
  void Post(std::uint64_t steps, double episode_return, int count,
            const std::string& model = "default") {
    TrainingUpdate update;
    update.model = model;
    update.steps = {.learned = steps, .taken = 2 * steps};
    update.episodes.assign(static_cast<std::size_t>(count), {episode_return, 10, 0});
    operate->Post(std::move(update));
    operate->PollOnce(0);
  }
  std::string Read(const std::string& file) {
    return *ReadFile(directory.path() + '/' + file, 1 << 20);
  }

  TemporaryFolder folder;
  SocketContext context;
  RunDirectory directory =
      *RunDirectory::Open(folder.path(), "run", RunDirectory::WhenTaken::kRefuse);
  Display display{Display::Mode::kQuiet};
  std::vector<ActorReport> actors;
  LearningPause pause{[](LogLevel, std::string_view) {}, ""};
  SnapshotBoard board{[] {}};
  std::vector<RunEnd> ends;
  std::unique_ptr<Operate> operate;
};

TEST(Operate, AnEvaluationReachesTheReturnWhereItCounts) {
  for (const bool counts : {false, true}) {
    Fixture fixture({.at_return = 475.0, .evaluated = counts});
    fixture.Post(1000, 400, 100);
    fixture.operate->PostEvaluation("default", {.version = 1, .episodes = 100, .mean_return = 474});
    fixture.operate->PollOnce(0);
    EXPECT_TRUE(fixture.ends.empty());
    fixture.operate->PostEvaluation(
        "default", {.version = 2, .episodes = 100, .mean_return = 480, .by = EvaluatedBy::kShare});
    fixture.operate->PollOnce(0);
    EXPECT_TRUE(fixture.ends.empty()) << "of what actors chose to play";
    fixture.operate->PostEvaluation("default", {.version = 2, .episodes = 100, .mean_return = 480});
    fixture.operate->PollOnce(0);
    EXPECT_EQ(fixture.ends, counts ? std::vector{RunEnd::kSolved} : std::vector<RunEnd>{});
  }
}

TEST(Operate, StopsWhenAHundredEpisodesReachTheReturn) {
  Fixture fixture({.at_return = 475.0});
  fixture.Post(1000, 500, 99);
  EXPECT_TRUE(fixture.ends.empty());  // 99 are not 100
  fixture.Post(2000, 500, 1);
  ASSERT_EQ(fixture.ends.size(), 1u);
  EXPECT_EQ(fixture.ends[0], RunEnd::kSolved);
}

TEST(Operate, NumbersStayAsTheyWereWhenItStopped) {
  Fixture fixture({.at_return = 475.0});
  fixture.Post(2000, 500, 100);
  fixture.Post(3000, 0, 100);
  EXPECT_EQ(fixture.ends.size(), 1u);
  EXPECT_EQ(fixture.operate->progress().learned_steps(), 2000u);
  EXPECT_DOUBLE_EQ(*fixture.operate->progress().means().mean_return(), 500.0);
}

TEST(Operate, AnEvaluationAfterTheEndCountsForTheRunAndForWhatCameLater) {
  Fixture fixture({.at_return = 475.0});
  fixture.Post(2000, 500, 100);
  fixture.Post(3000, 0, 100);
  fixture.operate->PostEvaluation("default", {.steps = 3000, .episodes = 100, .mean_return = 77});
  fixture.operate->PollOnce(0);
  for (const Progress* progress :
       {&fixture.operate->progress(), &fixture.operate->last_progress()}) {
    ASSERT_TRUE(progress->evaluation());
    EXPECT_EQ(progress->evaluation()->mean_return, 77);
  }
  EXPECT_EQ(fixture.operate->progress().learned_steps(), 2000u);
  EXPECT_EQ(fixture.operate->last_progress().learned_steps(), 3000u);
}

TEST(Operate, ASpentBudgetIsAFailureOnlyWithATarget) {
  Fixture with({.at_return = 475.0, .budget = 1000});
  with.Post(1000, 10, 1);
  EXPECT_THAT(with.ends, ::testing::ElementsAre(RunEnd::kBudgetSpent));
  Fixture without({.budget = 1000});
  without.Post(999, 10, 1);
  EXPECT_TRUE(without.ends.empty());
  without.Post(1000, 10, 1);
  EXPECT_THAT(without.ends, ::testing::ElementsAre(RunEnd::kStepsReached));
}

TEST(Operate, StepsThatWereOnlyClaimedSpendNoBudget) {
  Fixture fixture({.at_steps = 5000, .budget = 10'000});
  TrainingUpdate update;
  update.steps = {.learned = 4999, .taken = std::uint64_t{1} << 62};
  fixture.operate->Post(update);
  fixture.operate->PollOnce(0);
  EXPECT_TRUE(fixture.ends.empty());
  update.steps.learned = 5000;
  fixture.operate->Post(update);
  fixture.operate->PollOnce(0);
  EXPECT_THAT(fixture.ends, ::testing::ElementsAre(RunEnd::kStepsReached));
}

TEST(Operate, EveryStopHasALastRow) {
  Fixture fixture({});
  EXPECT_EQ(fixture.Read("progress.csv"), CsvFile::Header());
  fixture.Post(777, 12, 3);
  fixture.operate->Finish();
  EXPECT_THAT(fixture.Read("progress.csv"), HasSubstr("\n1554,"));
  EXPECT_THAT(fixture.Read("progress.csv"), HasSubstr(",0,777,")) << "learned from";
  EXPECT_THAT(fixture.Read("plots/learning.svg"), HasSubstr("</svg>"));
}

TEST(Operate, EveryEvaluationHasARowAtOnceAndTheLastRowHasTheLast) {
  Fixture fixture({});
  fixture.Post(500, 12, 3);
  fixture.operate->PostEvaluation("default", {.steps = 480, .episodes = 100, .mean_return = 77});
  fixture.operate->PollOnce(0);
  EXPECT_THAT(fixture.Read("progress.csv"), HasSubstr(",77,0,0,,480,"));
  fixture.operate->PostEvaluation("default", {.steps = 500, .episodes = 100, .mean_return = 78});
  fixture.operate->Finish();
  const std::string rows = fixture.Read("progress.csv");
  EXPECT_THAT(rows.substr(rows.rfind('\n', rows.size() - 2)), HasSubstr(",78,0,0,,500,"));
  EXPECT_EQ(std::count(rows.begin(), rows.end(), '\n'), 3);  // the header and a row for each
  EXPECT_THAT(fixture.Read("plots/learning.svg"), HasSubstr("evaluation"));
}

TEST(Operate, NumbersOfEvaluationAreNotThoseOfTraining) {
  Fixture fixture({});
  fixture.Post(500, 12, 3);
  const std::vector<wire::ReportedNumber> training{{"kills", 6.0, 2}},
      evaluation{{"kills", 9.0, 1}};
  fixture.operate->PostReports("default", training, false);
  fixture.operate->PostReports("default", evaluation, true);
  fixture.operate->Finish();
  EXPECT_EQ(fixture.Read("reports.csv"),
            "steps,name,mean,count\n1000,eval/kills,9,1\n1000,kills,3,2\n");
}

/// A sink of one file, as a user of another tool would add it: NAME VALUE, the last reading.
class NotesFile : public MetricSink {
 public:
  explicit NotesFile(std::string path) : path_(std::move(path)) {}
  Status Write(const Reading& reading) override {
    std::string text = "model " + reading.name() + '\n';
    for (const MetricSample& sample : reading.samples())
      if (const auto number = sample.value.number())
        text +=
            std::string(sample.metric->name) + sample.label + ' ' + std::to_string(*number) + '\n';
    return WriteFileAtomically(path_, std::as_bytes(std::span(text.data(), text.size())));
  }
  static Result<std::unique_ptr<MetricSink>> Open(const SinkTarget& target) {
    return std::unique_ptr<MetricSink>(new NotesFile(target.folder + "/notes.txt"));
  }

 private:
  const std::string path_;
};

TEST(Operate, AFurtherSinkIsGivenWhatTheOthersAre) {
  std::vector<OpenSink> sinks = MetricSinks();
  sinks.push_back(NotesFile::Open);
  Fixture fixture({}, sinks);
  static constexpr Metric kTdError{"train/td_error"};
  TrainingUpdate update{.model = "hero", .steps = {.learned = 50, .taken = 100}};
  update.metrics.Set(kTdError, 0.25);
  fixture.operate->Post(update);
  fixture.operate->PostReports("hero", {{{"kills", 6.0, 2}}}, false);
  fixture.operate->Finish();
  EXPECT_THAT(fixture.Read("notes.txt"),
              ::testing::AllOf(HasSubstr("model hero\n"), HasSubstr("time/total_timesteps 100."),
                               HasSubstr("train/td_error 0.25"), HasSubstr("reportskills 3.0")));
  EXPECT_THAT(fixture.Read("progress.csv"),
              ::testing::AllOf(HasSubstr(",train/td_error\n100,"), ::testing::EndsWith(",0.25\n")));
}

TEST(Operate, ASecondModelHasFilesOfItsOwn) {
  Fixture fixture({.at_return = 5.0});
  fixture.Post(100, 1, 100, "hero");
  fixture.Post(200, 9, 100, "npc");  // only the first model can end the run
  EXPECT_TRUE(fixture.ends.empty());
  fixture.operate->Finish();
  EXPECT_THAT(fixture.Read("progress.csv"), HasSubstr("\n200,"));
  EXPECT_THAT(fixture.Read("models/npc/progress.csv"), HasSubstr("\n400,"));
}

TEST(Operate, ACheckpointThatIsDueLiesInItsModelsFolderWithTheReturnOfThen) {
  Fixture fixture({});
  fixture.Post(100, 1, 2, "hero");
  fixture.Post(200, 9, 100, "npc");
  for (const std::uint64_t steps : {10, 20})
    fixture.operate->PostCheckpoint("npc", [steps] { return SampleCheckpoint(steps); });
  fixture.operate->PollOnce(0);
  EXPECT_TRUE(fixture.operate->writer().PollOnce(0));
  EXPECT_FALSE(fixture.operate->writer().PollOnce(0)) << "newest wins";
  const auto found = ReadNewestCheckpoint(fixture.directory.path() + "/models/npc", {});
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->checkpoint.weights.steps, 20u);
  EXPECT_EQ(found->checkpoint.mean_return, 9.0);
  EXPECT_THAT(CheckpointSteps(fixture.directory.path()), ::testing::IsEmpty());
}

TEST(Operate, ACheckpointHoldsTheProgressOfTheUpdatesBeforeItAndNotOfThoseAfter) {
  Fixture fixture({});
  TrainingUpdate update;
  for (const std::uint64_t steps : {100, 200, 300}) {  // all of them wait together
    update.steps.taken = steps;
    update.metrics.Set(kVersion, static_cast<double>(steps / 10));
    fixture.operate->Post(update);
    if (steps == 200)
      fixture.operate->PostCheckpoint("default", [] { return SampleCheckpoint(200); });
  }
  fixture.operate->PollOnce(0);
  EXPECT_EQ(fixture.operate->progress().steps(), 300u);
  ASSERT_TRUE(fixture.operate->writer().PollOnce(0));
  const auto found = ReadNewestCheckpoint(fixture.directory.path(), {});
  ASSERT_TRUE(found.ok()) << found.status();
  const auto& counters = found->checkpoint.state.words.at("progress.counters");
  EXPECT_EQ(counters[0], 200u);
  EXPECT_EQ(counters[4], 20u);
}

TEST(Operate, ACheckpointHoldsTheEvaluationThatCameBeforeItAndNotTheOneAfter) {
  Fixture fixture({});
  fixture.Post(100, 1, 1);
  const auto evaluate = [&](std::uint64_t steps) {
    fixture.operate->PostEvaluation("default", {.steps = steps, .episodes = 100});
  };
  evaluate(50);
  evaluate(80);
  fixture.operate->PostCheckpoint("default", [] { return SampleCheckpoint(100); });
  evaluate(90);
  fixture.operate->PollOnce(0);  // all of them waited together
  EXPECT_EQ(fixture.operate->progress().evaluation()->steps, 90u);
  ASSERT_TRUE(fixture.operate->writer().PollOnce(0));
  const auto found = ReadNewestCheckpoint(fixture.directory.path(), {});
  ASSERT_TRUE(found.ok()) << found.status();
  const auto& words = found->checkpoint.state.words;
  EXPECT_EQ(words.at("progress.evaluation_of")[0], 80u);
  EXPECT_THAT(words.at("progress.evaluations_steps"), ::testing::ElementsAre(50, 80));
  const std::string rows = fixture.Read("progress.csv");
  EXPECT_EQ(std::count(rows.begin(), rows.end(), '\n'), 4);  // the header and a row for each
}

TEST(Operate, TheBestWeightsLieInTheirModelsFolder) {
  Fixture fixture({});
  fixture.Post(100, 1, 2, "hero");
  fixture.Post(200, 9, 100, "npc");
  fixture.operate->PostBest("npc", {7.0}, [] { return SampleCheckpoint(40); });
  fixture.operate->PollOnce(0);
  EXPECT_TRUE(fixture.operate->writer().PollOnce(0));
  const auto best = ReadBestCheckpoint(fixture.directory.path() + "/models/npc", {});
  ASSERT_TRUE(best.ok()) << best.status();
  EXPECT_EQ(best->checkpoint.evaluated->mean_return, 7.0);
  EXPECT_FALSE(ReadBestCheckpoint(fixture.directory.path(), {}).ok());
}

TEST(Operate, ASnapshotOfManyActorsShowsTheLiveOnesAndCountsAll) {
  Fixture fixture({});
  for (std::size_t i = 0; i < 2 * RunSnapshot::kMostActors; ++i) {
    fixture.actors.push_back({.name = "game", .sender = i, .steps = 10});
    if (i < RunSnapshot::kMostActors) fixture.actors.back().health = ActorReport::Health::kGone;
  }
  EXPECT_EQ(fixture.board.Await(0, 0), nullptr);  // asks
  fixture.operate->PollOnce(0);
  const auto snapshot = fixture.board.Await(0, 0);
  ASSERT_NE(snapshot, nullptr);
  const auto json = nlohmann::json::parse(snapshot->status);
  ASSERT_EQ(json["actors"].size(), RunSnapshot::kMostActors);
  for (const auto& actor : json["actors"]) EXPECT_EQ(actor["health"], "live");
  const auto game = std::ranges::find(snapshot->readings, "game", &Reading::name);
  ASSERT_NE(game, snapshot->readings.end());
  EXPECT_EQ(game->Count(kActorSteps), 20 * RunSnapshot::kMostActors);
}

TEST(Operate, ASnapshotSaysThatLearningIsPausedOrWhenThatEnded) {
  for (const bool ended : {false, true}) {
    Fixture fixture({});
    const std::int64_t begin_ns = MonotonicNs();
    (void)fixture.pause.AnswerTo("pause by a");
    if (ended) (void)fixture.pause.AnswerTo("unpause by a");
    EXPECT_EQ(fixture.board.Await(0, 0), nullptr);  // asks
    fixture.operate->PollOnce(0);
    const auto snapshot = fixture.board.Await(0, 0);
    ASSERT_NE(snapshot, nullptr);
    EXPECT_EQ(snapshot->paused, !ended);
    EXPECT_EQ(snapshot->unpaused_ns >= begin_ns, ended);
    const auto json = nlohmann::json::parse(snapshot->status);
    EXPECT_EQ(json.contains("paused"), !ended);
    EXPECT_EQ(json["waiting"].size(), 0u) << "it is said once";
  }
}

TEST(StatusReport, TellsTheLastGoodCheckpointAndWhatIsWrong) {
  StatusReport report;
  report.models.emplace_back("model", "hero");
  EXPECT_THAT(*StatusText(report.ToJson()), ::testing::Not(HasSubstr("checkpoint")));
  Reading& hero = report.models[0];
  hero.Set(kCheckpointFailures, 1);
  hero.Set(kCheckpointStep, 4000);
  hero.Set(kCheckpointTrouble, "cannot write w: the disk is full");
  EXPECT_THAT(*StatusText(report.ToJson()),
              HasSubstr("  last good checkpoint: step 4,000, 1 failed; the last attempt: cannot "
                        "write w: the disk is full\n"));
  hero = Reading("model", "hero");
  hero.Set(kBestFailures, 2);
  hero.Set(kBestTrouble, "cannot write b");
  EXPECT_THAT(*StatusText(report.ToJson()),
              HasSubstr("\n  best weights: 2 times not kept; the last attempt: cannot write b\n"));
  EXPECT_THAT(report.ToJson(), HasSubstr("\"best_trouble\": \"cannot write b\""));
}

}  // namespace
}  // namespace murmurate
