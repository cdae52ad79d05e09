// What a device that restarts, repeats itself or has its clock set looks like.
#include "server/stream/message_order.h"

#include <gtest/gtest.h>

#include "tests/stream/forecasting.h"

namespace murmurate {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000, kBegan = 1'700'000'000 * kSecond;

/// A device whose messages may say a number and a time, heard by one whose clock is right.
class Sensor {
 public:
  explicit Sensor(ForecastSettings settings = OneField(4))
      : forecaster_(settings, SpecOf(settings, {.units = 4, .kind = Layer::Kind::kGru}),
                    [this](const Forecast& forecast) { rows_.push_back(forecast.row); }) {}

  /// `time_s`, of the message, and `number`: 0: it has none.
  Refusal Say(int number, double time_s, double arrival_s) {
    sample_.device = "a";
    sample_.values = {1};
    sample_.sequence.reset();
    if (number > 0) sample_.sequence = static_cast<std::uint64_t>(number);
    sample_.time_ns = time_s == 0 ? 0 : kBegan + static_cast<std::int64_t>(time_s * 1e9);
    const auto refusal =
        forecaster_.Consume(sample_, kBegan + static_cast<std::int64_t>(arrival_s * 1e9));
    forecaster_.Predict();
    return refusal;
  }
  Forecaster::Totals totals() const { return forecaster_.totals(); }
  const std::vector<std::uint64_t>& rows() const { return rows_; }  ///< forecast from

 private:
  Sample sample_;
  std::vector<std::uint64_t> rows_;
  Forecaster forecaster_;
};

TEST(ARestart, OfADeviceThatSaysTheTimeIsABeginningAndNoDuplicate) {
  Sensor device;
  for (int i = 1; i <= 30; ++i) ASSERT_EQ(device.Say(i, i, i), Refusal::kNone);
  for (int i = 1; i <= 30; ++i) ASSERT_EQ(device.Say(i, 40 + i, 40 + i), Refusal::kNone) << i;
  EXPECT_EQ(device.totals().messages, 60u);
  EXPECT_EQ(device.totals().breaks, 1u);
  EXPECT_EQ(device.totals().gaps, 0u);
  EXPECT_EQ(device.rows()[30], 0u);
  EXPECT_EQ(device.rows().back(), 29u);
  EXPECT_EQ(device.totals().unlearned, 29u + 25u) << "all of before, and all but a window since";
}

TEST(ARestart, CannotBeToldFromARepetitionWithoutATime) {
  Sensor device;
  for (int i = 1; i <= 30; ++i) ASSERT_EQ(device.Say(i, 0, i), Refusal::kNone);
  for (int i = 1; i <= 30; ++i) ASSERT_EQ(device.Say(i, 0, 40 + i), Refusal::kDuplicate);
  EXPECT_EQ(device.Say(31, 0, 80), Refusal::kNone);
  EXPECT_EQ(device.totals().breaks, 0u);
}

TEST(ARepetition, IsADuplicateHoweverFarItGoesBack) {
  Sensor device;
  for (int i = 1; i <= 30; ++i) ASSERT_EQ(device.Say(i, i, i), Refusal::kNone);
  for (int i = 1; i <= 30; ++i) ASSERT_EQ(device.Say(i, i, 40 + i), Refusal::kDuplicate) << i;
  EXPECT_EQ(device.Say(31, 31, 80), Refusal::kNone);
  EXPECT_EQ(device.totals().messages, 31u);
  EXPECT_EQ(device.totals().breaks, 0u);
}

TEST(ARepetition, OfWhatCameLastMayEvenSayANewTime) {
  Sensor device;
  for (int i = 1; i <= 30; ++i) ASSERT_EQ(device.Say(i, i, i), Refusal::kNone);
  for (int i = 16; i <= 30; ++i) ASSERT_EQ(device.Say(i, 40 + i, 40 + i), Refusal::kDuplicate) << i;
  EXPECT_EQ(device.Say(15, 90, 90), Refusal::kNone) << "half of the last";
}

TEST(ARestart, CountsFromWhereItBegins) {
  Sensor device;
  for (int i = 1; i <= 30; ++i) ASSERT_EQ(device.Say(i, i, i), Refusal::kNone);
  ASSERT_EQ(device.Say(3, 50, 50), Refusal::kNone);
  EXPECT_EQ(device.totals().gaps, 0u) << "nobody knows where it began";
  ASSERT_EQ(device.Say(6, 51, 51), Refusal::kNone);
  EXPECT_EQ(device.totals().gaps, 2u);
  EXPECT_EQ(device.Say(6, 51, 52), Refusal::kDuplicate);
}

TEST(AClockThatIsSetBack, CostsTenMessagesAndThenTheDeviceBeginsAgain) {
  Sensor device;
  constexpr double kAhead = 80'000;
  for (int i = 1; i <= 20; ++i) ASSERT_EQ(device.Say(0, kAhead + i, i), Refusal::kNone);
  for (int i = 21; i <= 30; ++i) ASSERT_EQ(device.Say(0, i, i), Refusal::kTimeRunsBack) << i;
  for (int i = 31; i <= 40; ++i) ASSERT_EQ(device.Say(0, i, i), Refusal::kNone) << i;
  EXPECT_EQ(device.totals().breaks, 1u);
  EXPECT_EQ(device.totals().messages, 30u);
  EXPECT_EQ(device.rows()[20], 0u);
}

TEST(AClockThatIsSetBack, LeavesTheNumbersAsTheyAre) {
  Sensor device;
  for (int i = 1; i <= 20; ++i) ASSERT_EQ(device.Say(i, 5000 + i, i), Refusal::kNone);
  for (int i = 21; i <= 30; ++i) ASSERT_EQ(device.Say(i, i, i), Refusal::kTimeRunsBack);
  ASSERT_EQ(device.Say(31, 31, 31), Refusal::kNone);
  EXPECT_EQ(device.totals().gaps, 10u) << "that were refused";
  EXPECT_EQ(device.Say(15, 15, 32), Refusal::kDuplicate);
  EXPECT_EQ(device.Say(25, 25, 32), Refusal::kNone) << "it was refused, so it is no duplicate";
  EXPECT_EQ(device.totals().gaps, 9u);
  EXPECT_EQ(device.Say(25, 25, 33), Refusal::kDuplicate);
}

TEST(AClockThatIsSetBack, LeavesWhatWasTakenBeforeItKnown) {
  Sensor device;
  for (int i = 1; i <= 40; ++i) ASSERT_EQ(device.Say(i, 5000 + i, i), Refusal::kNone);
  for (int i = 41; i <= 50; ++i) ASSERT_EQ(device.Say(i, i, i), Refusal::kTimeRunsBack);
  for (int i = 51; i <= 100; ++i) ASSERT_EQ(device.Say(i, i, i), Refusal::kNone);
  // A sender that is exact repeats with the time of then, which is later than all since.
  for (int i = 31; i <= 40; ++i) EXPECT_EQ(device.Say(i, 5000 + i, 101), Refusal::kDuplicate) << i;
  EXPECT_EQ(device.totals().breaks, 1u);
}

TEST(AClockThatIsSetBack, IsNotWhatASingleLateMessageOrARepeatedOneLooksLike) {
  Sensor device;
  for (int i = 1; i <= 100; ++i) {
    ASSERT_EQ(device.Say(0, 10 * i, 10 * i), Refusal::kNone);
    ASSERT_EQ(device.Say(0, 10 * i - 5, 10 * i), Refusal::kTimeRunsBack);
  }
  for (int i = 0; i < 100; ++i) ASSERT_EQ(device.Say(0, 500, 1001), Refusal::kTimeRunsBack);
  for (int i = 0; i < 100; ++i) ASSERT_EQ(device.Say(0, 400 - i, 1002), Refusal::kTimeRunsBack);
  EXPECT_EQ(device.totals().breaks, 0u);
}

TEST(AClockThatIsSetBack, BeginsTheGridAgainToo) {
  ForecastSettings settings = OneField(4);
  settings.every_s = 10;
  Sensor device(settings);
  for (int i = 0; i < 40; ++i) ASSERT_EQ(device.Say(0, 5000 + 5 * i, 5 * i), Refusal::kNone);
  EXPECT_EQ(device.totals().rows, 19u) << "the twentieth cell is open";
  for (int i = 0; i < 10; ++i) ASSERT_EQ(device.Say(0, 200 + i, 200 + i), Refusal::kTimeRunsBack);
  for (int i = 0; i < 4; ++i) ASSERT_EQ(device.Say(0, 211 + 5 * i, 211), Refusal::kNone);
  EXPECT_EQ(device.totals().rows, 20u) << "the cell of before is none, one has come since";
}

TEST(Overtaken, PairsAreTakenAndAreNeitherGapsNorDuplicates) {
  Sensor device;
  for (const int i : {1, 2, 4, 3, 6, 5, 8, 7, 10, 9})
    EXPECT_EQ(device.Say(i, i, 10 + i), Refusal::kNone) << i;
  EXPECT_EQ(device.totals().messages, 10u);
  EXPECT_EQ(device.totals().rows, 10u);
  EXPECT_EQ(device.totals().late, 4u);
  EXPECT_EQ(device.totals().gaps, 0u);
  EXPECT_EQ(device.totals().breaks, 0u);
  EXPECT_EQ(device.Say(5, 5, 30), Refusal::kDuplicate);
  EXPECT_EQ(device.Say(11, 11, 30), Refusal::kNone);
}

TEST(Overtaken, TheFirstMessageOfAllIsTakenToo) {
  Sensor device;
  EXPECT_EQ(device.Say(2, 2, 10), Refusal::kNone);
  EXPECT_EQ(device.Say(1, 1, 10), Refusal::kNone);
  EXPECT_EQ(device.totals().gaps, 0u);
  EXPECT_EQ(device.totals().late, 1u);
}

/// What a client of QoS 1 sends after its broker was away: the newest message, then its queue.
TEST(Overtaken, AQueueBehindTheNewestMessageIsTakenWhole) {
  for (const bool stamped : {true, false}) {
    Sensor device;
    const auto say = [&](int i) { return device.Say(i, stamped ? 0.01 * i : 0, 100); };
    for (int i = 1; i <= 1045; ++i) ASSERT_EQ(say(i), Refusal::kNone);
    ASSERT_EQ(say(2856), Refusal::kNone);
    EXPECT_EQ(device.totals().gaps, 1810u);
    for (int i = 1046; i < 2856; ++i) ASSERT_EQ(say(i), Refusal::kNone) << i;
    for (int i = 1046; i <= 2856; ++i) ASSERT_EQ(say(i), Refusal::kDuplicate) << i;
    ASSERT_EQ(say(2857), Refusal::kNone);
    EXPECT_EQ(device.totals().messages, 2857u);
    EXPECT_EQ(device.totals().rows, 2857u);
    EXPECT_EQ(device.totals().late, 1810u);
    EXPECT_EQ(device.totals().gaps, 0u);
    EXPECT_EQ(device.totals().breaks, 0u);
  }
}

TEST(ALateMessage, BelongsToItsCellWhileThatIsOpen) {
  ForecastSettings settings = OneField(4);
  settings.every_s = 10;
  Sensor device(settings);
  ASSERT_EQ(device.Say(0, 101, 200), Refusal::kNone);
  ASSERT_EQ(device.Say(0, 108, 200), Refusal::kNone);
  EXPECT_EQ(device.Say(0, 106.5, 200), Refusal::kNone) << "1.5 s late";
  ASSERT_EQ(device.Say(0, 111, 200), Refusal::kNone);
  EXPECT_EQ(device.Say(0, 109, 200), Refusal::kTimeRunsBack) << "its cell is a row";
  EXPECT_EQ(device.totals().messages, 4u);
  EXPECT_EQ(device.totals().late, 1u);
  EXPECT_EQ(device.totals().rows, 1u);
  EXPECT_EQ(device.totals().joined, 2u);
}

}  // namespace
}  // namespace murmurate
