// Which answer each sample gets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/stream/forecasting.h"
#include "tests/stream/sample_peers.h"

namespace murmurate {
namespace {

constexpr std::int64_t kSecond = kNanosecondsPerSecond;

/// A forecaster behind the server, as a stream has it.
class Forecasts {
 public:
  Forecasts(ServerStage* stage, const ForecastSettings& settings)
      : forecasting_(settings, SpecOf(settings, *Layer::Parse("lstm 4"))) {
    forecasting_.on_forecast = [stage](const Forecast& forecast) { stage->server->Give(forecast); };
    stage->take = [this](const Sample& sample) {
      Forecaster& forecaster = forecasting_.forecaster;
      const std::uint64_t rows = forecaster.totals().rows;
      const Refusal refusal = forecaster.Consume(sample, 1'000'000 * kSecond);
      return SampleOutcome{refusal, forecaster.totals().rows > rows,
                           forecaster.IsDue(sample.device)};
    };
    stage->predict = [this] { forecasting_.forecaster.Predict(); };
  }
  Forecaster& forecaster() { return forecasting_.forecaster; }

 private:
  Forecasting forecasting_;
};

TEST(SampleAnswers, EachSampleIsAnsweredByTheForecastOfItsRow) {
  ServerStage stage;
  Forecasts forecasts(&stage, OneField(4));
  RawPeer one(stage.address(), 1), two(stage.address(), 2);
  stage.Greet(&one);
  stage.Greet(&two);
  for (std::uint64_t i = 1; i <= 3; ++i) {
    // Both devices in one round, and two rows of one of them.
    ASSERT_TRUE(one.Send(SampleOf("a", static_cast<float>(i)), 2 * i - 1));
    ASSERT_TRUE(one.Send(SampleOf("a", static_cast<float>(i) + 0.5f), 2 * i));
    ASSERT_TRUE(two.Send(SampleOf("b", 10 * static_cast<float>(i)), i));
    std::uint64_t number = 0;
    wire::Forecast said = stage.Hear<wire::Forecast>(&one, &number);
    EXPECT_EQ(number, 2 * i - 1);
    EXPECT_EQ(said.row, 2 * i - 2);
    EXPECT_EQ(said.values.at(0).baseline, static_cast<float>(i));  // the last value
    said = stage.Hear<wire::Forecast>(&one, &number);
    EXPECT_EQ(number, 2 * i);
    EXPECT_EQ(said.row, 2 * i - 1);
    EXPECT_EQ(said.values.at(0).baseline, static_cast<float>(i) + 0.5f);
    said = stage.Hear<wire::Forecast>(&two, &number);
    EXPECT_EQ(number, i);
    EXPECT_EQ(said.row, i - 1);
    EXPECT_EQ(said.values.at(0).baseline, 10 * static_cast<float>(i));
  }
  EXPECT_EQ(stage.server->counters().samples, 9u);
  EXPECT_EQ(stage.server->counters().answers, 9u);
}

TEST(SampleAnswers, ARowThatSomebodyElseMadeIsNobodysAnswer) {
  ServerStage stage;
  Forecasts forecasts(&stage, OneField(4));
  RawPeer peer(stage.address());
  stage.Greet(&peer);
  Sample by_broker;
  by_broker.device = "a";
  by_broker.values = {7};
  by_broker.time_ns = kSecond;
  ASSERT_TRUE(peer.Send(SampleOf("a", 8, {}, 2 * kSecond), 1));
  while (!stage.server->Readable()) stage.server->Wait(10);
  ASSERT_EQ(forecasts.forecaster().Consume(by_broker, kSecond), Refusal::kNone);  // waits
  std::uint64_t number = 0;
  const auto said = stage.Hear<wire::Forecast>(&peer, &number);
  EXPECT_EQ(number, 1u);
  EXPECT_EQ(said.row, 1u);
  EXPECT_EQ(said.values.at(0).baseline, 8);
  EXPECT_FALSE(peer.HasMore());
}

TEST(SampleAnswers, OnAGridASampleIsAnsweredByTheRowItMadeOrTaken) {
  SampleServerSettings settings = ServerSettings("");
  settings.forecast.every_s = 10;
  ServerStage stage(settings);
  ForecastSettings grid = OneField(4);
  grid.every_s = 10;
  grid.max_gap = 2;
  Forecasts forecasts(&stage, grid);
  RawPeer peer(stage.address());
  stage.Greet(&peer);
  std::uint64_t number = 0;
  ASSERT_TRUE(peer.Send(SampleOf("a", 1, {}, 1 * kSecond), 1));
  (void)stage.Hear<wire::Taken>(&peer, &number);
  EXPECT_EQ(number, 1u);
  // Closes the cell of 1, and an empty one after it: the last row is the answer.
  ASSERT_TRUE(peer.Send(SampleOf("a", 2, {}, 25 * kSecond), 2));
  auto said = stage.Hear<wire::Forecast>(&peer, &number);
  EXPECT_EQ(number, 2u);
  EXPECT_EQ(said.row, 1u);
  EXPECT_EQ(said.time_ns, 20 * kSecond);
  EXPECT_EQ(said.due_ns.at(0), 30 * kSecond);
  // Closes the cell of 2, whose row is forecast at once, because the device then begins again.
  ASSERT_TRUE(peer.Send(SampleOf("a", 3, {}, 1000 * kSecond), 3));
  said = stage.Hear<wire::Forecast>(&peer, &number);
  EXPECT_EQ(number, 3u);
  EXPECT_EQ(said.row, 2u);
  EXPECT_EQ(said.values.at(0).baseline, 2);
  EXPECT_FALSE(peer.HasMore());
}

TEST(SampleAnswers, WhatIsRefusedIsSaidInAWord) {
  ServerStage stage;
  Forecasts forecasts(&stage, OneField(4));
  RawPeer peer(stage.address());
  stage.Greet(&peer);
  std::uint64_t number = 0;
  const auto refused = [&](const wire::Sample& sample, std::uint64_t n) {
    EXPECT_TRUE(peer.Send(sample, n));
    const auto said = stage.Hear<wire::Refused>(&peer, &number);
    EXPECT_EQ(number, n);
    EXPECT_FALSE(said.sentence.empty());
    return said.word;
  };
  ASSERT_TRUE(peer.Send(SampleOf("a", 1, 5), 1));
  (void)stage.Hear<wire::Forecast>(&peer);
  EXPECT_EQ(refused(SampleOf("a", 1, 5), 2), "duplicate");
  EXPECT_EQ(refused(SampleOf("", 1, 6), 3), "empty_device");
  EXPECT_EQ(refused(SampleOf("a/b", 1, 6), 4), "bad_device_name");
  EXPECT_EQ(refused({"a", 0, 6, "", {1, 2}}, 5), "malformed");
  EXPECT_EQ(refused(SampleOf("a", std::nanf(""), 6), 6), "no_field");
  EXPECT_EQ(refused(SampleOf("a", 1, 6, -1), 7), "bad_time");
  EXPECT_EQ(stage.refused.size(), 5u);  // the duplicate was for the forecaster to see
  ASSERT_TRUE(peer.Send(SampleOf("a", 2, 6), 8));
  EXPECT_EQ(stage.Hear<wire::Forecast>(&peer).row, 1u);
}

TEST(SampleAnswers, AForecastOfAnEarlierRowIsNoAnswerToASampleThatMadeNone) {
  ServerStage stage;
  bool made_rows = false;
  stage.take = [&](const Sample& sample) {
    stage.server->Give({sample.device, 6, 0, 0, {}, {}});
    return SampleOutcome{Refusal::kNone, made_rows, false};
  };
  RawPeer peer(stage.address());
  stage.Greet(&peer);
  ASSERT_TRUE(peer.Send(SampleOf("a", 1), 1));
  (void)stage.Hear<wire::Taken>(&peer);
  made_rows = true;
  ASSERT_TRUE(peer.Send(SampleOf("a", 1), 2));
  EXPECT_EQ(stage.Hear<wire::Forecast>(&peer).row, 6u);
}

TEST(SampleAnswers, ToAClientThatDoesNotReadDoublesAreFloats) {
  ServerStage stage;
  stage.take = [](const Sample&) { return SampleOutcome{Refusal::kNone, true, true}; };
  RawPeer old(stage.address());
  stage.Greet(&old);  // says nothing of doubles
  ASSERT_TRUE(old.Send(SampleOf("a", 1), 1));
  while (stage.server->counters().samples == 0) stage.Round();
  const std::vector<double> values = {123'456'792.25}, quantiles = {1, 2};
  const std::vector<Prediction> predictions = {
      {values[0], values[0], values[0], quantiles, true, {}}};
  const std::string device = "a";
  stage.server->Give({device, 0, kNanosecondsPerSecond, 7, values, predictions});
  const auto said = stage.Hear<wire::Forecast>(&old);
  EXPECT_FALSE(said.doubles);
  EXPECT_EQ(said.values.at(0).forecast, 123'456'792.0) << "the nearest float32";
  EXPECT_THAT(said.quantiles, testing::ElementsAre(1, 2));
}

}  // namespace
}  // namespace murmurate
