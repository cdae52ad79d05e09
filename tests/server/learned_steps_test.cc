// A run goes by the steps that it learned from: those that were only claimed, dropped or never sent
// neither end it nor move its schedules. Real processes, and a peer that speaks the protocol.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <sstream>

#include "client/environments/environment.h"
#include "tests/ingest/stage.h"
#include "tests/server/process.h"

namespace murmurate {
namespace {

using Row = std::map<std::string, std::string>;

std::vector<std::string> Fields(const std::string& row) {
  std::vector<std::string> fields;
  std::istringstream line(row);
  for (std::string field; std::getline(line, field, ',');) fields.push_back(field);
  return fields;
}

/// Serves CartPole until 20,000 steps are learned from, with a rate that falls from 1e-3 to 1e-5.
class LearnedSteps : public ::testing::Test {
 protected:
  void SetUp() override {
    place_.Write("l.toml",
                 "[run]\nname = \"l\"\nenvironment = \"cartpole\"\nsteps = 20_000\n"
                 "log_interval_s = 0.02\n[server]\nlisten = [\"" +
                     address_ +
                     "\"]\n[model]\nlayers = [16]\n[evaluation]\nevery = 0\n"
                     "[algorithm]\ntrajectory_length = 32\nbatch_steps = 512\n"
                     "minibatch = 128\n[optimizer]\n"
                     "learning_rate = {from = 1e-3, to = 1e-5}\n");
  }
  std::vector<std::string> Actor(const std::string& pace) const {
    return {"actor", "cartpole", "--connect", address_, "--pace", pace, "--agents", "4"};
  }
  std::vector<Row> Rows() const {
    std::istringstream text(place_.Read("runs/l/progress.csv"));
    std::string line;
    std::getline(text, line);
    const auto names = Fields(line);
    std::vector<Row> rows;
    while (std::getline(text, line)) {
      const auto fields = Fields(line);
      for (std::size_t i = 0; i < fields.size(); ++i) {
        if (i == 0) rows.emplace_back();
        rows.back()[names[i]] = fields[i];
      }
    }
    return rows;
  }
  /// The run has ended with the steps that it was told, and so had its rate.
  void ExpectItEndedAtItsSteps() const {
    const auto rows = Rows();
    ASSERT_FALSE(rows.empty());
    const double learned = std::stod(rows.back().at("time/learned_steps"));
    EXPECT_GE(learned, 20'000);
    EXPECT_LE(learned, 20'000 + 512);
    EXPECT_EQ(rows.back().at("train/trained_steps"), rows.back().at("time/learned_steps"));
    for (const Row& row : rows) {
      if (row.at("train/learning_rate").empty()) continue;
      // The schedule stood at what was learned from before the last batch.
      const double after = std::stod(row.at("time/learned_steps"));
      EXPECT_LE(std::stod(row.at("train/learning_rate")), RateAt(after - 512) + 1e-8);
      EXPECT_GE(std::stod(row.at("train/learning_rate")), RateAt(after) - 1e-8);
    }
  }
  static double RateAt(double steps) {
    return 1e-3 + (1e-5 - 1e-3) * std::clamp(steps / 20'000, 0.0, 1.0);
  }

  Workplace place_;
  const std::string address_ = "ipc://" + place_.path() + "/main";
};

TEST_F(LearnedSteps, APingThatClaimsStepsEndsAndSchedulesNothing) {
  Process serve(place_.path(), {"serve", "l.toml", "--quiet"});
  ASSERT_TRUE(Eventually(20, [&] { return place_.Has("runs/l/address.json"); })) << serve.Errors();
  {
    SocketContext context;
    StageActor stranger(context, address_, 4711, "stranger");
    const auto environment = MakeEnvironment("cartpole", {});
    ASSERT_TRUE(environment.ok());
    bool said = false;
    ASSERT_TRUE(Eventually(20, [&] {
      if (!said) said = stranger.SayHello({{"default", (*environment)->spaces()}});
      stranger.Listen();
      return stranger.welcome.has_value();
    }));
    ASSERT_EQ(stranger.Send(wire::Ping{0, {{std::uint64_t{1} << 62, 0, 0}}}, 0),
              SendOutcome::kSent);
    ASSERT_TRUE(Eventually(20, [&] {
      stranger.Listen();
      return stranger.pongs > 0;
    }));
  }
  Process actor(place_.path(), Actor("credit"));
  EXPECT_EQ(serve.Wait(60), 0) << serve.Errors();
  EXPECT_EQ(actor.Wait(20), 0) << actor.Errors();
  ExpectItEndedAtItsSteps();
  EXPECT_GT(std::stod(Rows().back().at("time/total_timesteps")), 4.6e18) << "as it was claimed";
  EXPECT_NE(place_.Read("runs/l/log.txt").find("learned from its steps"), std::string::npos);
}

TEST_F(LearnedSteps, APauseInWhichActorsPlayOnDoesNotSpendTheRun) {
  Process serve(place_.path(), {"serve", "l.toml", "--quiet"});
  Process actor(place_.path(), Actor("never"));
  ASSERT_TRUE(Eventually(20, [&] { return !Rows().empty(); })) << serve.Errors();
  serve.Send(SIGSTOP);
  (void)Eventually(0.3, [] { return false; });
  serve.Send(SIGCONT);
  EXPECT_EQ(serve.Wait(60), 0) << serve.Errors();
  EXPECT_EQ(actor.Wait(20), 0) << actor.Errors();
  ExpectItEndedAtItsSteps();
  const Row last = Rows().back();
  EXPECT_GT(std::stod(last.at("time/total_timesteps")), std::stod(last.at("time/learned_steps")))
      << "the game went on by itself";
}

}  // namespace
}  // namespace murmurate
