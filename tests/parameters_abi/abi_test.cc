// The C interface and its C++ form as programs use them, at a real `murmurate params`.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "murmurate/parameters.h"
#include "tests/server/process.h"

namespace murmurate {
namespace {

using testing::Each;
using testing::HasSubstr;

class ParametersAbi : public testing::Test {
 protected:
  void Start(const std::string& rule, int workers = 1) {
    shard_ = std::make_unique<Process>(
        place_.path(),
        std::vector<std::string>{"params", "own-program", "--shard", "0", "--set",
                                 "parameters.rule=" + rule, "--set",
                                 "parameters.workers=" + std::to_string(workers), "--set",
                                 "parameters.shards=[\"" + address_ + "\"]"});
  }
  Parameters::Options As(std::uint32_t worker) const {
    auto options = Parameters::DefaultOptions();
    options.worker = worker;
    return options;
  }
  std::vector<Parameters::Array> Arrays() { return {{"w", {2, 2}, weights_}, {"b", {}, bias_}}; }

  Workplace place_;
  const std::string address_ = "ipc://" + place_.path() + "/s";
  std::unique_ptr<Process> shard_;
  std::vector<float> weights_ = {1, 1, 1, 1}, bias_ = {1};
  const std::vector<float> ones_ = {1, 1, 1, 1};
};

TEST_F(ParametersAbi, TwoWorkersOfABarrierAverageTheirGradients) {
  Start("sync", 2);
  std::vector<float> other_weights(4, 9.0f), other_bias(1, 9.0f);
  std::thread other([&] {
    auto joined =
        Parameters::Join(address_, {{"w", {2, 2}, other_weights}, {"b", {}, other_bias}}, As(1));
    ASSERT_TRUE(joined.ok()) << joined.status().message();
    EXPECT_THAT(other_weights, Each(1.0f)) << "the model begins with worker 0's";
    const std::vector<float> threes(4, 3.0f);
    for (int i = 0; i < 3; ++i) {
      const Status pushed = joined->Push({threes.data(), threes.data()}, 0.5);
      ASSERT_TRUE(pushed.ok()) << pushed.message();
    }
  });
  auto joined = Parameters::Join(address_, Arrays(), As(0));
  ASSERT_TRUE(joined.ok()) << joined.status().message();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(joined->Push({ones_.data(), ones_.data()}, 0.5).ok());
  other.join();
  EXPECT_THAT(weights_, Each(1.0f - 3 * 0.5f * 2.0f));
  EXPECT_EQ(other_weights, weights_);
  EXPECT_EQ(other_bias, bias_);
  const auto report = joined->report();
  EXPECT_STREQ(report.rule, "sync");
  EXPECT_EQ(report.pushes, 3u);
  EXPECT_EQ(report.version, 3u);
  EXPECT_EQ(report.staleness_max, 0.0);
  EXPECT_GT(report.wait_s, 0.0);
}

TEST_F(ParametersAbi, ACallDoesNotWaitUnlessItIsAskedTo) {
  auto opened = Parameters::Open(address_, Arrays());
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  ASSERT_TRUE(opened->BeginPull().ok());
  EXPECT_FALSE(*opened->Wait(20));
  Start("asgd");
  EXPECT_TRUE(*opened->Wait(20'000));
  const float* const gradients[] = {ones_.data(), ones_.data()};
  ASSERT_TRUE(opened->BeginPush(gradients, 1.0).ok());
  EXPECT_THAT(weights_, Each(1.0f));
  EXPECT_EQ(opened->BeginPull().code(), StatusCode::kUnavailable);
  EXPECT_TRUE(*opened->Wait());
  EXPECT_THAT(weights_, Each(0.0f));
}

TEST_F(ParametersAbi, WhatIsPassedWronglyIsSaidInOneSentence) {
  const auto refusal = [](mmr_parameters* made) {
    EXPECT_EQ(made, nullptr);
    return std::string(mmr_parameters_last_error());
  };
  const int32_t shape[] = {4};
  mmr_array array = mmr_array_of("w", weights_.data(), 1, shape);
  EXPECT_THAT(refusal(mmr_parameters_open("", &array, 1, nullptr)), HasSubstr("no address"));
  EXPECT_THAT(refusal(mmr_parameters_open(nullptr, &array, 1, nullptr)), HasSubstr("no address"));
  EXPECT_THAT(refusal(mmr_parameters_open("x", nullptr, 0, nullptr)), HasSubstr("at least one"));
  array.size = 0;
  EXPECT_THAT(refusal(mmr_parameters_open("x", &array, 1, nullptr)),
              HasSubstr("sizeof(mmr_array)"));
  array = mmr_array_of("w", nullptr, 1, shape);
  EXPECT_THAT(refusal(mmr_parameters_open("x", &array, 1, nullptr)), HasSubstr("arrays[0].values"));
  array = mmr_array_of("w", weights_.data(), 9, shape);
  EXPECT_THAT(refusal(mmr_parameters_open("x", &array, 1, nullptr)), HasSubstr("expected 0 to 8"));
  weights_[2] = std::numeric_limits<float>::infinity();
  array = mmr_array_of("w", weights_.data(), 1, shape);
  EXPECT_THAT(refusal(mmr_parameters_open("x", &array, 1, nullptr)), HasSubstr("not finite"));
  weights_[2] = 1;
  auto options = Parameters::DefaultOptions();
  options.optimizer = "newton";
  EXPECT_THAT(refusal(mmr_parameters_open("x", &array, 1, &options)), HasSubstr("\"newton\""));

  EXPECT_EQ(mmr_parameters_pull(nullptr), MMR_BAD_HANDLE);
  EXPECT_EQ(mmr_parameters_wait(nullptr, 0), MMR_BAD_HANDLE);
  EXPECT_EQ(mmr_parameters_interrupt(nullptr), MMR_BAD_HANDLE);
  EXPECT_EQ(mmr_parameters_close(nullptr), MMR_OK);
  auto bad = Parameters::Open(address_, {{"w", {3}, weights_}});
  EXPECT_THAT(bad.status().message(), HasSubstr("has 4 numbers, expected 3"));
  auto opened = Parameters::Open("nowhere", {{"w", {4}, weights_}});
  ASSERT_TRUE(opened.ok());
  ASSERT_TRUE(opened->BeginPull().ok());
  EXPECT_THAT(opened->Wait(1000).status().message(), HasSubstr("nowhere"));
}

TEST_F(ParametersAbi, TheLogGetsWhatTheUserShouldKnow) {
  std::vector<std::string> said;
  auto options = Parameters::DefaultOptions();
  options.log = [](void* user, int32_t level, const char* text) {
    if (level == 2) static_cast<std::vector<std::string>*>(user)->emplace_back(text);
  };
  options.log_user = &said;
  auto opened = Parameters::Open(address_, Arrays(), options);
  ASSERT_TRUE(opened.ok() && opened->BeginPull().ok());
  EXPECT_FALSE(*opened->Wait(1500));
  ASSERT_EQ(said.size(), 1u);
  EXPECT_THAT(said[0], HasSubstr("which has never answered; start it with `murmurate params"));
  EXPECT_EQ(std::string(opened->report().waits), said[0].substr(0, 239));
}

TEST_F(ParametersAbi, AHandleThatIsInterruptedLetsItsThreadGo) {
  auto opened = Parameters::Open(address_, Arrays());
  ASSERT_TRUE(opened.ok() && opened->BeginPull().ok());
  std::thread waits([&] { EXPECT_EQ(opened->Wait().status().code(), StatusCode::kUnavailable); });
  opened->Interrupt();
  waits.join();
}

/// A learner answers what no actor says.
TEST_F(ParametersAbi, AnAddressOfALearnerIsToldApart) {
  Process learner(place_.path(),
                  {"serve", "cartpole", "--set", "server.listen=[\"" + address_ + "\"]"});
  ASSERT_TRUE(learner.Says("serves")) << learner.Errors();
  auto opened = Parameters::Open(address_, Arrays());
  ASSERT_TRUE(opened.ok() && opened->BeginPull().ok());
  EXPECT_THAT(opened->Wait(20'000).status().message(), HasSubstr("give the address of a shard"));
  learner.Send(SIGTERM);
  EXPECT_EQ(learner.Wait(20), 0);
}

}  // namespace
}  // namespace murmurate
