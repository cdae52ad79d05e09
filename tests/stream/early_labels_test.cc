// Labels that come before their samples, and labels on the topic of samples.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/stream/stream_labels.h"
#include "tests/stream/lab.h"

namespace murmurate {
namespace {

ForecastSettings Early(int early = 4, int label_window = 8) {
  ForecastSettings settings = Late(2, label_window);
  settings.early_labels = early;
  return settings;
}

TEST(EarlyLabels, AreScoredAgainstTheForecastOfTheirSampleAndLearnedOnce) {
  Lab lab(Early());
  ASSERT_EQ(lab.Sample("0", 1), Refusal::kNone);
  ASSERT_EQ(lab.Label("0", 10), Refusal::kNone);
  ASSERT_EQ(lab.Label("1", 14), Refusal::kNone) << "its sample comes next";
  EXPECT_EQ(lab.Label("1", 15), Refusal::kDuplicate);
  EXPECT_EQ(lab.forecaster.labels().waiting(), 1u);
  ASSERT_EQ(lab.Sample("1", 1), Refusal::kNone);
  EXPECT_EQ(lab.last.baseline, 10) << "its own label is not the last one yet";
  EXPECT_EQ(lab.Label("1", 16), Refusal::kDuplicate);
  EXPECT_EQ(lab.forecaster.labels().waiting(), 0u);
  ASSERT_EQ(lab.Sample("2", 1), Refusal::kNone);
  EXPECT_EQ(lab.last.baseline, 14);
  EXPECT_EQ(lab.last.score.count, 1);
  EXPECT_EQ(lab.last.score.baseline, 4) << "14 was forecast as 10";
  lab.Learn();
  EXPECT_EQ(lab.totals().learned, 2u);
  EXPECT_EQ(lab.totals().unmatched, 0u);
}

TEST(EarlyLabels, OfADeviceThatHasNotBeenHeardOfWaitForIt) {
  Lab lab(Early());
  EXPECT_EQ(lab.Label("7", 3, "new"), Refusal::kNone);
  EXPECT_EQ(lab.Sample("7", 1, 0, "new"), Refusal::kNone);
  EXPECT_EQ(lab.Label("7", 3, "new"), Refusal::kDuplicate);
  lab.Learn();
  EXPECT_EQ(lab.totals().learned, 1u);
}

TEST(EarlyLabels, ThatAreTooManyOrTooOldLeaveAndAreCounted) {
  for (const int early : {1, 3, 8}) {
    Lab lab(Early(early, 6));
    for (int i = 0; i < 10; ++i)
      ASSERT_EQ(lab.Label("none" + std::to_string(i), 1), Refusal::kNone);
    EXPECT_EQ(lab.forecaster.labels().waiting(), static_cast<std::size_t>(early));
    EXPECT_EQ(lab.totals().unmatched, 10u - static_cast<std::size_t>(early));
    for (int i = 0; i < 6; ++i) {
      EXPECT_EQ(lab.forecaster.labels().waiting(), static_cast<std::size_t>(early)) << i;
      ASSERT_EQ(lab.Sample(std::to_string(i), 1), Refusal::kNone);
    }
    EXPECT_EQ(lab.forecaster.labels().waiting(), 0u) << "label_window samples have come since";
    EXPECT_EQ(lab.totals().unmatched, 10u);
    lab.Learn();
    EXPECT_EQ(lab.learned, 0u);
  }
}

TEST(EarlyLabels, AreRefusedWhereNoneIsKeptAndWhereATargetIsMissing) {
  Lab none(Early(0)), lab(Early());
  EXPECT_EQ(none.Label("1", 1), Refusal::kUnknownId);
  EXPECT_EQ(lab.Label("", 1), Refusal::kNoId);
  EXPECT_EQ(lab.Label("1", std::nanf("")), Refusal::kMissingField);
  EXPECT_EQ(lab.forecaster.labels().waiting(), 0u);
}

TEST(EarlyLabels, AreBoundedByTheDevicesThatAreFollowed) {
  ForecastSettings settings = Early();
  settings.max_devices = 2;
  Lab lab(settings);
  EXPECT_EQ(lab.Label("1", 1, "a"), Refusal::kNone);
  EXPECT_EQ(lab.Label("1", 1, "b"), Refusal::kNone);
  EXPECT_EQ(lab.Sample("1", 1, 0, "c"), Refusal::kNone) << "it takes the place of what never sent";
  EXPECT_EQ(lab.totals().unmatched, 2u);
  const Lab empty(Early(0)), eight(Early(8));
  EXPECT_EQ(eight.forecaster.bytes_per_device(),
            empty.forecaster.bytes_per_device() + 8 * (16 + 8));
}

TEST(EarlyLabels, GoOnFromWhatWasSaved) {
  const ForecastSettings settings = Early();
  Lab run(settings), again(settings);
  ASSERT_EQ(run.Sample("0", 1), Refusal::kNone);
  ASSERT_EQ(run.Label("0", 1), Refusal::kNone);
  for (int i = 0; i < 6; ++i) ASSERT_EQ(run.Label("e" + std::to_string(i), i), Refusal::kNone);
  ASSERT_EQ(run.Label("e0", 5, "other"), Refusal::kNone);
  SavedState state;
  run.forecaster.Save(StateWriter(&state, "stream"));
  ASSERT_TRUE(again.forecaster.Load(StateReader(state, "stream")).ok());
  again.SetClock(run);
  EXPECT_EQ(again.forecaster.labels().waiting(), 5u);
  EXPECT_EQ(again.totals().unmatched, 2u);
  EXPECT_EQ(again.Label("e5", 5), Refusal::kDuplicate);
  ASSERT_EQ(again.Sample("e5", 1), Refusal::kNone);
  ASSERT_EQ(again.Sample("next", 1), Refusal::kNone);
  EXPECT_EQ(again.last.baseline, 5);
  again.Learn();
  EXPECT_EQ(again.totals().learned, 2u);
  StateWriter(&state, "stream").Words("early", std::vector<std::uint64_t>{1'000'000, 3});
  Lab damaged(settings);
  EXPECT_EQ(damaged.forecaster.Load(StateReader(state, "stream")).code(), StatusCode::kInvalidData);
}

/// A lab whose messages are [a, b, quality] on one topic.
class OneTopic : public Lab {
 public:
  OneTopic() : Lab(Early()), labels_(Make()) {}

  Refusal Say(const std::string& id, std::vector<double> values) {
    murmurate::Sample message;
    message.device = "pump";
    message.id = id;
    message.values = std::move(values);
    message.time_ns = now_ns_ += kNanosecondsPerSecond;
    const Refusal refusal = labels_.ConsumeEither(message.time_ns, &message, &forecaster);
    forecaster.Predict();
    return refusal;
  }

 private:
  static StreamLabels Make() {
    StreamSettings settings;
    settings.labels.emplace().share_topic = true;
    settings.forecast = Early();
    return *StreamLabels::Make(settings);
  }
  StreamLabels labels_;
  std::int64_t now_ns_ = 1'700'000'000 * kNanosecondsPerSecond;
};

TEST(LabelsOnTheTopicOfSamples, AreToldFromSamplesByWhatTheyHave) {
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  OneTopic lab;
  EXPECT_EQ(lab.Say("1", {1, 2, kNone}), Refusal::kNone) << "a sample";
  EXPECT_EQ(lab.Say("1", {kNone, kNone, 10}), Refusal::kNone) << "its label";
  EXPECT_EQ(lab.Say("1", {kNone, kNone, 10}), Refusal::kDuplicate);
  EXPECT_EQ(lab.Say("1", {1, 2, kNone}), Refusal::kDuplicate);
  EXPECT_EQ(lab.Say("2", {1, 2, 14}), Refusal::kNone) << "both: forecast, then labelled";
  EXPECT_EQ(lab.last.baseline, 10);
  EXPECT_EQ(lab.Say("2", {kNone, kNone, 14}), Refusal::kDuplicate);
  EXPECT_EQ(lab.Say("3", {1, 2, kNone}), Refusal::kNone);
  EXPECT_EQ(lab.last.baseline, 14);
  EXPECT_EQ(lab.Say("3", {1, 2, 15}), Refusal::kNone) << "its sample is known: the label";
  EXPECT_EQ(lab.Say("3", {1, 2, 15}), Refusal::kDuplicate);
  EXPECT_EQ(lab.Say("4", {kNone, kNone, 16}), Refusal::kNone) << "a label that came early";
  EXPECT_EQ(lab.Say("4", {1, 2, 17}), Refusal::kNone) << "a sample; the first label holds";
  EXPECT_EQ(lab.Say("5", {1, kNone, kNone}), Refusal::kNone);
  EXPECT_EQ(lab.last.baseline, 16);
  EXPECT_EQ(lab.Say("6", {kNone, kNone, kNone}), Refusal::kMissingField);
  EXPECT_EQ(lab.Say("", {1, 2, 3}), Refusal::kNoId);
  EXPECT_EQ(lab.Say("", {kNone, kNone, 3}), Refusal::kNoId);
  EXPECT_EQ(lab.totals().rows, 5u);
  lab.Learn();
  EXPECT_EQ(lab.totals().learned, 4u);
}

}  // namespace
}  // namespace murmurate
