// The intervals that a daemon publishes hold on series that public Python packages ship
// (scripts/packaged-series.sh takes them out of these, or says why it cannot):
//
//   statsmodels  sunspots, co2, elnino, and of macrodata inflation, unemployment and bill_rate
//   river        water_flow, trump_approval, sp500_aapl
//
// Each is a device of one stream of the real executable, with the usual settings, and each of its
// values is forecast before it is sent.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "murmurate/predictor.h"
#include "tests/server/process.h"

namespace murmurate {
namespace {

constexpr std::size_t kFrom = 100, kEnough = 500;
constexpr const char* kNames[] = {"sunspots",     "co2",       "elnino",     "inflation",
                                  "unemployment", "bill_rate", "water_flow", "trump_approval",
                                  "sp500_aapl"};

std::vector<double> Read(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istream_iterator<double>(in), {}};
}

struct Coverage {
  double rows = 0, wide = 0, narrow = 0;
  double error = 0, naive = 0;

  void Add(const Coverage& more) {
    rows += more.rows;
    wide += more.wide;
    narrow += more.narrow;
  }
  void ExpectToHold(const std::string& name) const {
    EXPECT_GE(narrow / rows, 0.75) << name;
    EXPECT_LE(narrow / rows, 0.85) << name;
    EXPECT_GE(wide / rows, 0.96) << name;
    EXPECT_LE(wide / rows, 0.995) << name;
  }
};

class PackagedSeries : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* const folder = std::getenv("MURMURATE_SERIES");
    if (folder == nullptr)
      GTEST_SKIP() << "MURMURATE_SERIES names no folder; scripts/packaged-series.sh makes one";
    folder_ = folder;
  }
  std::string Address() const { return "ipc://" + place_.path() + "/s"; }

  /// Sends a series and sees what was said of each of its values before.
  Coverage Play(Predictor* predictor, const std::string& name) {
    const std::vector<double> series = Read(folder_ / name);
    EXPECT_GT(series.size(), 2 * kFrom) << name;
    Coverage coverage;
    Predictor::Answer answer;
    for (std::size_t i = 0; i < series.size(); ++i) {
      if (i >= kFrom) Note(series[i], answer, &coverage);
      const double values[] = {series[i]};
      const Predictor::SampleOptions options{.time_ns =
                                                 1'000'000'000 * static_cast<std::int64_t>(i + 1)};
      const bool answered =
          Eventually(
              20,
              [&] { return predictor->Send(name, values, options) == Predictor::Sent::kTaken; }) &&
          predictor->Receive(&answer, 20'000);
      if (!answered || answer.outcome != Predictor::Outcome::kForecast) {
        ADD_FAILURE() << name << ", row " << i << ": " << answer.sentence;
        break;
      }
    }
    return coverage;
  }

  static void Note(double value, const Predictor::Answer& said, Coverage* coverage) {
    const auto& q = said.quantiles;
    ASSERT_EQ(q.size(), 4u);
    EXPECT_TRUE(std::ranges::is_sorted(q));
    EXPECT_LE(q[1], said.values[0].forecast);
    EXPECT_GE(q[2], said.values[0].forecast);
    ++coverage->rows;
    coverage->wide += value >= q[0] && value <= q[3];
    coverage->narrow += value >= q[1] && value <= q[2];
    coverage->error += std::abs(value - said.values[0].forecast);
    coverage->naive += std::abs(value - said.values[0].baseline);
  }

  Workplace place_;
  std::filesystem::path folder_;
};

TEST_F(PackagedSeries, LieInTheIntervalsThatWereForecastAsOftenAsTheseSay) {
  const std::string config = place_.Write(
      "series.toml",
      "[server]\nlisten = [\"ipc\"]\n[stream.series]\nlisten = \"" + Address() +
          "\"\nfields = [\"x\"]\ntarget = \"x\"\nquantiles = [0.01, 0.1, 0.9, 0.99]\n");
  Process server(place_.path(), {"serve", config});
  ASSERT_TRUE(server.Says("stream series: listens on ")) << server.Errors();
  auto predictor = Predictor::Connect(Address());
  ASSERT_TRUE(predictor.ok()) << predictor.status();
  Coverage all;
  int long_ones = 0;
  for (const char* name : kNames) {
    const Coverage one = Play(predictor->get(), name);
    std::printf("%-15s %5.0f rows: 80 %% hold %.3f, 98 %% hold %.3f; error %.4g, naive %.4g\n",
                name, one.rows, one.narrow / one.rows, one.wide / one.rows, one.error / one.rows,
                one.naive / one.rows);
    all.Add(one);
    if (one.rows < kEnough) continue;
    ++long_ones;
    one.ExpectToHold(name);
  }
  std::printf("%-15s %5.0f rows: 80 %% hold %.3f, 98 %% hold %.3f\n", "all", all.rows,
              all.narrow / all.rows, all.wide / all.rows);
  all.ExpectToHold("all");
  EXPECT_EQ(long_ones, 5);
  server.Send(SIGINT);
  EXPECT_EQ(server.Wait(20), 0) << server.Errors();
}

}  // namespace
}  // namespace murmurate
