// What users and other programs read, byte for byte: progress.csv, the status as JSON and as text,
// the screen. The files in golden/ were written before metrics were declared in one place.
#include <gtest/gtest.h>

#include "server/metrics/csv_file.h"
#include "server/metrics/model_metrics.h"
#include "server/metrics/stream_metrics.h"
#include "server/operate/progress.h"
#include "server/operate/screen_text.h"
#include "server/operate/status_report.h"
#include "shared/model/safetensors.h"
#include "tests/operate/temporary_folder.h"
#include "tests/source_file.h"

namespace murmurate {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
using Values = std::vector<std::pair<const Metric*, MetricValue>>;

std::string Golden(const std::string& file) {
  return *ReadFile(SourceFile("tests/operate/golden/" + file), 1 << 20);
}

TrainingUpdate FirstUpdate() {
  TrainingUpdate update{.at_ns = kSecond,
                        .steps = {.learned = 3584, .taken = 4096},
                        .waited_s = 0.5,
                        .lived_s = 4,
                        .episodes = {{20.0, 20, 0, 2}, {30.5, 25, 0, 1}}};
  const std::vector<std::pair<const Metric*, double>> values = {
      {&kDroppedSteps, 12},   {&kTrainedSteps, 512},    {&kUpdates, 3},
      {&kLateSteps, 40},      {&kVersion, 7},           {&kPolicyLoss, -0.0125},
      {&kValueLoss, 1.5},     {&kEntropyLoss, -0.5},    {&kClipFraction, 0.0625},
      {&kApproxKl, 0.001},    {&kLagKl, 0.002},         {&kExplainedVariance, 0.75},
      {&kGradNorm, 0.4},      {&kLearningRate, 0.0003}, {&kClipRange, 0.2},
      {&kLearnerWait, 0.125}, {&kIngestWait, 0.0625},   {&kActorWait, 0.03125}};
  for (const auto& [metric, value] : values) update.metrics.Set(*metric, value);
  return update;
}

/// Of a learner of labels that shares its parameters.
TrainingUpdate LaterUpdate() {
  TrainingUpdate update = FirstUpdate();
  update.at_ns = 3 * kSecond;
  update.steps = {.learned = 8000, .taken = 9000};
  update.eval_rows = 64;
  const std::vector<std::pair<const Metric*, double>> values = {{&kLoss, 0.031},
                                                                {&kAccuracy, 0.98},
                                                                {&kLabelError, 0.25},
                                                                {&kEvalLoss, 0.5},
                                                                {&kEvalAccuracy, 0.875},
                                                                {&kExchangeStaleness, 2},
                                                                {&kExchangeStalenessMax, 5},
                                                                {&kExchangeDistance, 0.01},
                                                                {&kExchangeWait, 0.75},
                                                                {&kExchangeLate, 1},
                                                                {&kExchangeWasted, 0.125}};
  for (const auto& [metric, value] : values) update.metrics.Set(*metric, value);
  return update;
}

void TakeLag(TrainingUpdate update, double mean, double most, double waited_s, double lived_s,
             Progress* progress) {
  update.metrics.Set(kStaleness, mean);
  update.metrics.Set(kStalenessMax, most);
  update.waited_s = waited_s;
  update.lived_s = lived_s;
  progress->Apply(update);
}

void TakeHeldOut(double loss, Progress* progress) {
  TrainingUpdate update{.waited_s = 3, .lived_s = 8, .eval_rows = 32, .held_out = true};
  update.metrics.Set(kEvalLoss, loss);
  update.metrics.Set(kEvalAccuracy, 0.5);
  progress->Apply(update);
}

/// All that happened; rows are written meanwhile, if there is a file.
void Play(Progress* progress, CsvFile* file = nullptr) {
  const auto write = [&](std::int64_t seconds) {
    if (file == nullptr) return;
    EXPECT_TRUE(file->Write(progress->EndRow(seconds * kSecond)).ok());
  };
  write(1);
  TakeLag(FirstUpdate(), 1.5, 4, 0.5, 4, progress);
  write(2);
  TakeLag(LaterUpdate(), 0.5, 1, 1.5, 6, progress);
  TakeLag(LaterUpdate(), 1, 2, 2, 7, progress);
  TakeHeldOut(0.25, progress);
  TakeHeldOut(0.75, progress);
  progress->ApplyEvaluation({4000, 3, 100, 312.5, 10.25, 44, 0.25, 3500});
  write(5);
  write(6);
}

void SetAll(const Values& values, Reading* reading) {
  for (const auto& [metric, value] : values) reading->Set(*metric, value);
}

Reading Hero() {
  Progress progress(0);
  Play(&progress);
  Reading reading = progress.Live(6 * kSecond);
  reading.set_name("hero");
  SetAll({{&kCheckpointsWritten, 3},
          {&kCheckpointFailures, 1},
          {&kCheckpointStep, 8000},
          {&kCheckpointTrouble, "cannot write w: full"},
          {&kBestFailures, 2},
          {&kBestTrouble, "cannot write b"}},
         &reading);
  reading.Add(kReported, "kills", 3.25, 10);
  reading.Add(kReported, "settings/difficulty", 2.5, 10);
  return reading;
}

/// Of a model that has not learned yet.
Reading Fresh(const std::string& name) {
  Progress progress(0);
  Reading reading = progress.Live(kSecond);
  reading.set_name(name);
  SetAll({{&kCheckpointsWritten, 0},
          {&kCheckpointFailures, 0},
          {&kCheckpointStep, {}},
          {&kCheckpointTrouble, ""},
          {&kBestFailures, 0},
          {&kBestTrouble, ""}},
         &reading);
  return reading;
}

/// A stream that has done nothing.
Reading Down() {
  Reading reading("stream", "flow");
  for (const Metric* count :
       {&kStreamClients, &kStreamAnswered, &kStreamPublished, &kStreamLosses, &kStreamReceived,
        &kStreamMessages, &kStreamDevices, &kStreamLearned, &kStreamUnlearned, &kStreamGaps,
        &kStreamLate, &kStreamRows, &kStreamForecasts, &kStreamIncomplete, &kStreamSkipped,
        &kStreamJoined, &kStreamEmpty, &kStreamWaiting})
    reading.Set(*count, 0);
  SetAll({{&kStreamUp, false},
          {&kStreamDown, 12.5},
          {&kStreamBroker, "mqtt://h:1883"},
          {&kStreamListen, ""},
          {&kStreamStuck, ""},
          {&kStreamRate, 0.0},
          {&kStreamError, {}},
          {&kStreamNaiveError, {}},
          {&kStreamSkill, {}}},
         &reading);
  return reading;
}

Reading Up() {
  Reading reading = Down();
  reading.set_name("temp");
  SetAll({{&kStreamUp, true},
          {&kStreamDown, 0.0},
          {&kStreamClients, 2},
          {&kStreamAnswered, 40},
          {&kStreamPublished, 1180},
          {&kStreamLosses, 1},
          {&kStreamReceived, 1210},
          {&kStreamMessages, 1200},
          {&kStreamDevices, 3},
          {&kStreamLearned, 1100},
          {&kStreamUnlearned, 80},
          {&kStreamGaps, 5},
          {&kStreamLate, 2},
          {&kStreamRows, 1190},
          {&kStreamForecasts, 1185},
          {&kStreamIncomplete, 4},
          {&kStreamSkipped, 6},
          {&kStreamJoined, 1},
          {&kStreamEmpty, 3},
          {&kStreamWaiting, 2},
          {&kStreamRate, 10.25},
          {&kStreamError, 0.412},
          {&kStreamNaiveError, 0.73},
          {&kStreamSkill, 1 - 0.412 / 0.73},
          {&kStreamBroker, "mqtt://127.0.0.1:1883"},
          {&kStreamListen, "tcp://127.0.0.1:5556"},
          {&kStreamStuck, "device b has sent 20 messages"}},
         &reading);
  reading.Add(kStreamRefusals, "duplicate", 3);
  reading.Add(kStreamRefusals, "malformed", 7);
  const auto field = [&](const char* name, int missing, int out_of_range, int wrong_type) {
    reading.Add(kFieldMissing, name, missing);
    reading.Add(kFieldOutOfRange, name, out_of_range);
    reading.Add(kFieldWrongType, name, wrong_type);
  };
  field("hum", 3, 1, 0);
  field("temp", 0, 0, 1200);
  return reading;
}

ActorsView Actors() {
  ActorReport stalled{.name = "a-1",
                      .health = ActorReport::Health::kStalled,
                      .agents = 8,
                      .trajectories = 99,
                      .refused = 2,
                      .steps = 60000,
                      .dropped_steps = 1500,
                      .silent_ns = 4'100'000'000,
                      .waited_ns = 1,
                      .played_ns = 4};
  for (int i = 0; i < 810; ++i) stalled.staleness.Add(0);
  for (int i = 0; i < 170; ++i) stalled.staleness.Add(1);
  for (int i = 0; i < 19; ++i) stalled.staleness.Add(3);
  stalled.staleness.Add(100);
  stalled.troubles = {{"npc", 3, 8, "NaN at place 1"}, {"npc", 0, 0, "41 % are never sent"}};
  ActorsView actors{.actors = {stalled, {.name = "a-2"}},
                    .refused = {{.name = "a-3", .sentence = "other spaces"}},
                    .duplicates = 6,
                    .messages = 1000,
                    .bytes = 123456,
                    .waiting = {"model default waits for experience: 3 of 8 trajectories"},
                    .lost_trajectories = 4};
  actors.refusals[1] = 5;
  return actors;
}

StatusReport FullReport() {
  StatusReport report{.run = "hero-run",
                      .directory = "/runs/hero-run",
                      .pid = 4711,
                      .uptime_s = 75.5,
                      .listen = {"tcp://127.0.0.1:5555", "ipc:///tmp/x/main"},
                      .models = {Hero(), Fresh("npc"), Fresh("temp")},
                      .settings = {{"difficulty", 2.5}, {"distractors", 1}},
                      .actors = Actors(),
                      .streams = {Up(), Down()}};
  report.models[0].Set(kStepRate, 1234.5);
  SetAll({{&kEnvironmentSteps, 1100},
          {&kLearnedSteps, 1100},
          {&kStepRate, 12.25},
          {&kVersion, 9},
          {&kLearnerWait, 0.875}},
         &report.models[2]);
  return report;
}

std::string Shown(const ScreenView& view) {
  std::string text;
  for (const std::string& line : TableLines(view)) text += line + '\n';
  return text + OneLine(view) + "\n\n";
}

TEST(Golden, ProgressCsv) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/progress.csv";
  Progress progress(0);
  Play(&progress, CsvFile::Create(path)->get());
  EXPECT_EQ(*ReadFile(path, 1 << 20), Golden("progress.csv"));
}

TEST(Golden, StatusJson) { EXPECT_EQ(FullReport().ToJson(), Golden("status.json")); }

TEST(Golden, StatusText) { EXPECT_EQ(*StatusText(Golden("status.json")), Golden("status.txt")); }

TEST(Golden, Screen) {
  ScreenView view{.run = "runs/hero-run", .model = Fresh("hero")};
  SetAll({{&kElapsed, 75.5}, {&kActors, 0}, {&kAgents, 0}}, &view.model);
  std::string screens = Shown(view);
  view.model = Hero();
  for (const auto& [name, value] : {std::pair("c", 1.0), std::pair("d", 2.0), std::pair("e", 3.0)})
    view.model.Add(kReported, name, value);
  view.settings = {{"difficulty", 2.5}, {"distractors", 1}};
  SetAll({{&kBudget, 150000},
          {&kTargetReturn, 475.0},
          {&kVersion, 1121},
          {&kStepRate, 152300.0},
          {&kStaleness, 1.04},
          {&kElapsed, 75.5},
          {&kEta, 0.58},
          {&kActors, 4},
          {&kAgents, 8},
          {&kWaits,
           "model default waits for experience: 3 of 8 trajectories, none for 4.1 s; actor a-2 is "
           "silent for 4.1 s"}},
         &view.model);
  screens += Shown(view);
  SetAll({{&kMeanReturn, {}}, {&kEvalReturn, {}}, {&kTargetReturn, {}}}, &view.model);
  view.streams = {Up()};
  screens += Shown(view);
  view.streams.push_back(Down());
  view.only_streams = true;
  screens += Shown(view);
  EXPECT_EQ(screens, Golden("screen.txt"));
}

}  // namespace
}  // namespace murmurate
