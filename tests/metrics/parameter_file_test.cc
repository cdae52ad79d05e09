#include "server/metrics/parameter_file.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "server/metrics/model_metrics.h"
#include "shared/model/parameter_layout.h"
#include "shared/model/safetensors.h"
#include "shared/model/weights_file.h"
#include "tests/metrics/event_reader.h"
#include "tests/operate/temporary_folder.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;

/// A model that is a list of two arrays, and its checkpoint of a step.
class Model {
 public:
  explicit Model(std::string folder) : folder_(std::move(folder)) {
    file_.spec.arrays = {{"a", {4}}, {"b", {2, 2}}};
    file_.parameters = AlignedFloats(ParameterLayout(file_.spec).total);
    for (std::size_t i = 0; i < 8; ++i) file_.parameters.data()[i] = static_cast<float>(i);
  }
  void Save(const std::string& step) const {
    const std::string checkpoints = folder_ + "/checkpoints";
    fs::create_directories(checkpoints + '/' + step);
    const std::string bytes = FormatWeightsFile(file_, false);
    ASSERT_TRUE(WriteFileAtomically(checkpoints + '/' + step + "/weights.safetensors",
                                    std::as_bytes(std::span(bytes)))
                    .ok());
    fs::remove(checkpoints + "/latest");
    fs::create_directory_symlink(step, checkpoints + "/latest");
  }

 private:
  const std::string folder_;
  WeightsFile file_;
};

Reading ReadingAt(std::uint64_t steps) {
  Reading reading;
  reading.Set(kEnvironmentSteps, steps);
  return reading;
}

std::vector<std::string> EventsIn(const std::string& folder) {
  std::vector<std::string> events;
  for (const auto& entry : fs::directory_iterator(folder + "/parameters"))
    for (const std::string& event : ReadEvents(entry.path())) events.push_back(event);
  return events;
}

TEST(ParameterFile, HasAHistogramOfEachTensorOfEachCheckpoint) {
  TemporaryFolder folder;
  const auto sink = std::move(*OpenParameterFile({folder.path()}));
  ASSERT_TRUE(sink->Write(ReadingAt(10)).ok());  // no checkpoint yet
  Model model(folder.path());
  model.Save("step-1");
  ASSERT_TRUE(sink->Write(ReadingAt(20)).ok());
  ASSERT_TRUE(sink->Write(ReadingAt(30)).ok());  // the same one
  model.Save("step-2");
  ASSERT_TRUE(sink->Write(ReadingAt(40)).ok());
  const std::vector<std::string> events = EventsIn(folder.path());
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(StepIn(events[1]), 20u);
  EXPECT_EQ(StepIn(events[2]), 40u);
  const auto values = ValuesIn(events[1]);
  ASSERT_EQ(values.size(), 2u);
  const auto first = FieldsOf(values.at("a").find(5)->second);
  EXPECT_EQ(NumberIn<double>(first.find(2)->second), 3.0);
  EXPECT_EQ(NumberIn<double>(first.find(3)->second), 4.0);
  const auto second = FieldsOf(values.at("b").find(5)->second);
  EXPECT_NEAR(NumberIn<double>(second.find(1)->second), 4.0, 1e-9);
  EXPECT_EQ(NumberIn<double>(second.find(2)->second), 7.0);
  EXPECT_EQ(NumberIn<double>(second.find(4)->second), 4.0 + 5 + 6 + 7);
}

TEST(ParameterFile, EndsWithTheCheckpointThatCameAfterTheLastRow) {
  TemporaryFolder folder;
  {
    const auto sink = std::move(*OpenParameterFile({folder.path()}));
    ASSERT_TRUE(sink->Write(ReadingAt(10)).ok());
    Model(folder.path()).Save("step-1");
  }
  const std::vector<std::string> events = EventsIn(folder.path());
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(StepIn(events[1]), 10u);
}

TEST(ParameterFile, AResumedRunMarksItsBeginningAndHasTheCheckpointOnceAtItsSteps) {
  TemporaryFolder folder;
  {
    const auto sink = std::move(*OpenParameterFile({folder.path()}));
    ASSERT_TRUE(sink->Write(ReadingAt(10)).ok());
    Model(folder.path()).Save("step-1");
  }
  const Reading resumed = ReadingAt(10);
  const auto sink = std::move(*OpenParameterFile({.folder = folder.path(), .resumed = &resumed}));
  ASSERT_TRUE(sink->Write(ReadingAt(20)).ok());
  std::vector<std::uint64_t> steps, marks;
  for (const std::string& event : EventsIn(folder.path())) {
    if (!ValuesIn(event).empty()) steps.push_back(StepIn(event));
    if (FieldsOf(event).contains(7)) marks.push_back(StepIn(event));
  }
  EXPECT_EQ(steps, std::vector<std::uint64_t>{10});
  EXPECT_EQ(marks, std::vector<std::uint64_t>{10});
}

TEST(ParameterFile, ADamagedCheckpointIsLeftOut) {
  TemporaryFolder folder;
  const auto sink = std::move(*OpenParameterFile({folder.path()}));
  Model(folder.path()).Save("step-1");
  fs::resize_file(folder.path() + "/checkpoints/step-1/weights.safetensors", 20);
  EXPECT_TRUE(sink->Write(ReadingAt(20)).ok());
  EXPECT_EQ(EventsIn(folder.path()).size(), 1u);
}

}  // namespace
}  // namespace murmurate
