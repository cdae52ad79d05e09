#include "server/metrics/tensorboard_file.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "server/metrics/actor_metrics.h"
#include "server/metrics/model_metrics.h"
#include "server/metrics/run_description.h"
#include "tests/metrics/event_reader.h"
#include "tests/operate/temporary_folder.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;

Reading ReadingAt(std::uint64_t steps, double elapsed_s = 0) {
  Reading reading;
  reading.Set(kEnvironmentSteps, steps);
  reading.Set(kElapsed, elapsed_s);
  return reading;
}

/// The events of all files, in the order of their names.
std::vector<std::string> EventsIn(const std::string& folder) {
  std::vector<std::string> paths, events;
  for (const auto& entry : fs::directory_iterator(folder)) paths.push_back(entry.path());
  std::ranges::sort(paths);
  for (const std::string& path : paths)
    for (const std::string& event : ReadEvents(path)) events.push_back(event);
  return events;
}

using Steps = std::vector<std::uint64_t>;

/// The steps of the events that have values.
Steps StepsOfRows(const std::string& folder) {
  Steps steps;
  for (const std::string& event : EventsIn(folder))
    if (!ValuesIn(event).empty()) steps.push_back(StepIn(event));
  return steps;
}

TEST(TensorBoardFile, HasTheNumbersThatAreInFilesUnderTheirNames) {
  TemporaryFolder folder;
  const auto sink = std::move(*OpenTensorBoardFile({folder.path()}));
  Reading reading = ReadingAt(300);
  reading.Set(kMeanReturn, 21.5);
  reading.Set(kStepRate, 9.0);              // in no file
  reading.Set(kEvalReturn, MetricValue());  // no value
  reading.Add(kReported, "kills", 2.0, 4);  // the game's own word
  reading.Add(kReported, "eval/kills", 3.0, 4);
  ASSERT_TRUE(sink->Write(reading).ok());
  const std::vector<std::string> events = EventsIn(folder.path());
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(FieldsOf(events[0]).find(3)->second, "brain.Event:2");
  EXPECT_EQ(FieldsOf(FieldsOf(events[1]).find(7)->second).find(1)->second, "1");
  EXPECT_EQ(StepIn(events[2]), 300u);
  const auto values = ValuesIn(events[2]);
  EXPECT_EQ(values.size(), 5u);
  const auto number = [&values](const char* tag) {
    return NumberIn<float>(values.at(tag).find(2)->second);
  };
  EXPECT_EQ(number("time/total_timesteps"), 300.0f);
  EXPECT_EQ(number("time/time_elapsed"), 0.0f);
  EXPECT_EQ(number("rollout/ep_rew_mean"), 21.5f);
  EXPECT_EQ(number("rollout/kills"), 2.0f);
  EXPECT_EQ(number("eval/kills"), 3.0f);
}

TEST(TensorBoardFile, HasTheConfigurationAndTheHyperparameters) {
  TemporaryFolder folder;
  const RunDescription run{
      "[run]\nseed = 1\n",
      {{"algorithm.epochs", 4.0}, {"algorithm.name", "ppo"}, {"model.x", true}}};
  ASSERT_TRUE(OpenTensorBoardFile({.folder = folder.path(), .run = &run}).ok());
  const auto values = ValuesIn(EventsIn(folder.path()).at(2));
  const auto text = FieldsOf(values.at("config").find(8)->second);
  EXPECT_EQ(text.find(8)->second, "```toml\n[run]\nseed = 1\n```\n");
  const auto& hparams = values.at("_hparams_/session_start_info");
  const auto plugin = FieldsOf(FieldsOf(hparams.find(9)->second).find(1)->second);
  EXPECT_EQ(plugin.find(1)->second, "hparams");
  const auto session = FieldsOf(FieldsOf(plugin.find(2)->second).find(3)->second);
  EXPECT_EQ(session.count(1), 3u);
}

TEST(TensorBoardFile, HistogramsAreOfWhatCameSinceTheLastOnes) {
  TemporaryFolder folder;
  const auto sink = std::move(*OpenTensorBoardFile({folder.path()}));
  Histogram waits(std::vector<double>{0.5, 1, 2});
  const auto write = [&](double elapsed_s) {
    Reading reading = ReadingAt(1, elapsed_s);
    reading.Set(kBatchWait, waits);
    ASSERT_TRUE(sink->Write(reading).ok());
  };
  waits.Add(0.7);
  waits.Add(100);
  write(1);
  waits.Add(0.1);
  write(2);  // too soon
  write(7);
  const std::vector<std::string> events = EventsIn(folder.path());
  ASSERT_EQ(events.size(), 5u);
  const auto histogram = [&](std::size_t i) {
    return FieldsOf(ValuesIn(events[i]).at("perf/batch_wait").find(5)->second);
  };
  const auto first = histogram(2);
  EXPECT_EQ(NumberIn<double>(first.find(1)->second), 0.5);  // of the first bucket that has any
  EXPECT_EQ(NumberIn<double>(first.find(2)->second), 3.0);  // the last one is as wide as before it
  EXPECT_EQ(NumberIn<double>(first.find(3)->second), 2.0);
  EXPECT_EQ(NumberIn<double>(first.find(4)->second), 100.7);
  ASSERT_EQ(first.find(6)->second.size(), 3 * sizeof(double));  // without the empty one before it
  EXPECT_EQ(NumberIn<double>(first.find(6)->second, 0), 1.0);
  EXPECT_EQ(NumberIn<double>(first.find(6)->second, 2), 3.0);
  EXPECT_EQ(NumberIn<double>(first.find(7)->second, 0), 1.0);
  EXPECT_EQ(NumberIn<double>(first.find(7)->second, 1), 0.0);
  EXPECT_EQ(NumberIn<double>(first.find(7)->second, 2), 1.0);
  EXPECT_FALSE(ValuesIn(events[3]).contains("perf/batch_wait"));
  EXPECT_EQ(NumberIn<double>(histogram(4).find(3)->second), 1.0);
  EXPECT_EQ(NumberIn<double>(histogram(4).find(1)->second), 0.0);
}

TEST(TensorBoardFile, EndsWithTheHistogramsThatAreLeft) {
  TemporaryFolder folder;
  {
    const auto sink = std::move(*OpenTensorBoardFile({folder.path()}));
    Histogram waits(std::vector<double>{0.5, 1, 2});
    for (const double elapsed_s : {1.0, 2.0, 3.0}) {
      Reading reading = ReadingAt(static_cast<std::uint64_t>(10 * elapsed_s), elapsed_s);
      reading.Set(kBatchWait, waits);  // none before the first row
      ASSERT_TRUE(sink->Write(reading).ok());
      waits.Add(0.7);
    }
  }
  Steps steps;
  for (const std::string& event : EventsIn(folder.path()))
    if (ValuesIn(event).contains("perf/batch_wait")) steps.push_back(StepIn(event));
  EXPECT_EQ(steps, (Steps{20, 30}));
}

TEST(TensorBoardFile, ManyActorsHaveNoMoreHistogramsThanItSays) {
  TemporaryFolder folder;
  const auto sink = std::move(*OpenTensorBoardFile({folder.path()}));
  std::vector<ActorReport> actors;
  for (int i = 0; i < 100; ++i) {
    actors.push_back({.name = "a-" + std::to_string(i)});
    actors.back().staleness.Add(1);
  }
  Reading reading = ReadingAt(1);
  for (const MetricSample& sample : StalenessSamples(actors))
    reading.Add(*sample.metric, sample.label, sample.value);
  ASSERT_TRUE(sink->Write(reading).ok());
  const auto values = ValuesIn(EventsIn(folder.path()).at(2));
  EXPECT_EQ(values.size(), 2u + kMostHistograms);
  const auto all = FieldsOf(values.at("actor/staleness").find(5)->second);
  EXPECT_EQ(NumberIn<double>(all.find(3)->second), 100.0);
  EXPECT_TRUE(values.contains("actor/staleness/a-0"));
}

TEST(TensorBoardFile, AResumedRunGoesOnFromItsStepsAndANewOneFromNothing) {
  TemporaryFolder folder;
  {
    const auto sink = std::move(*OpenTensorBoardFile({folder.path()}));
    for (const std::uint64_t steps : {100, 200, 300})
      ASSERT_TRUE(sink->Write(ReadingAt(steps)).ok());
  }
  const Reading resumed = ReadingAt(200);
  {
    const auto sink =
        std::move(*OpenTensorBoardFile({.folder = folder.path(), .resumed = &resumed}));
    ASSERT_TRUE(sink->Write(ReadingAt(250)).ok());
  }
  EXPECT_EQ(StepsOfRows(folder.path()), (Steps{100, 200, 250}));
  const std::vector<std::string> events = EventsIn(folder.path());
  EXPECT_EQ(FieldsOf(events.at(5)).count(7), 1u);  // the mark of the second life
  EXPECT_EQ(StepIn(events.at(5)), 201u);
  ASSERT_TRUE(OpenTensorBoardFile({folder.path()}).ok());
  EXPECT_EQ(StepsOfRows(folder.path()), Steps());
}

}  // namespace
}  // namespace murmurate
