// examples/sensors as it is given to people: its script, and its config with fleets of one's own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "tests/server/process.h"
#include "tests/stream/broker.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

const fs::path kExample = fs::path(MURMURATE_SOURCES) / "examples/sensors";

class SensorsExample : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!Broker::Installed()) GTEST_SKIP() << Broker::kMissing;
  }
  Workplace place_;
};

/// What lies in `folder`, and when it was written.
std::map<std::string, fs::file_time_type> Listing(const fs::path& folder) {
  std::map<std::string, fs::file_time_type> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    files[entry.path().string()] = entry.last_write_time();
  return files;
}

/// Processes whose environment holds `text`.
std::vector<std::string> Marked(const std::string& text) {
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    std::ifstream file(entry.path() / "environ", std::ios::binary);
    const std::string all((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    if (all.find(text) != std::string::npos) found.push_back(entry.path().filename());
  }
  return found;
}

/// The last line of the table before the sensors break: the errors of model and naive forecast.
std::pair<double, double> LastErrors(const std::string& output) {
  std::istringstream lines(output);
  std::string line, unit;
  std::pair<double, double> errors{};
  double second = 0, model = 0, naive = 0;
  while (std::getline(lines, line) && line.find("break") == line.npos)
    if (std::istringstream row(line); row >> second >> unit >> model >> naive)
      errors = {model, naive};
  return errors;
}

TEST_F(SensorsExample, EndsByItselfForecastsBetterThanTheLastValueAndLeavesOnlyItsPicture) {
  if (std::system("command -v mosquitto_sub >/dev/null") != 0)
    GTEST_SKIP()
        << "the program mosquitto_sub is not installed (apt-get install mosquitto-clients)";
  const auto before = Listing(kExample);
  const std::string temporary = "TMPDIR=" + place_.path() + "/tmp";
  fs::create_directory(place_.path() + "/tmp");
  const std::string command = "cd \"" + place_.path() + "\" && " + temporary + " MURMURATE=\"" +
                              MURMURATE_EXECUTABLE + "\" timeout 100 \"" +
                              (kExample / "run").string() + "\" drawn.svg 12 >said.txt 2>&1";
  ASSERT_EQ(std::system(command.c_str()), 0) << place_.Read("said.txt");
  const std::string said = place_.Read("said.txt");
  const auto [model, naive] = LastErrors(said);
  EXPECT_GT(model, 0) << said;
  EXPECT_LT(model, naive) << said;
  EXPECT_THAT(said, ::testing::HasSubstr("-- all sensors break"));
  EXPECT_THAT(said, ::testing::EndsWith("drawn.svg\n"));
  EXPECT_THAT(place_.Read("drawn.svg"), ::testing::HasSubstr("</svg>"));
  EXPECT_THAT(Marked(temporary), ::testing::IsEmpty());
  EXPECT_TRUE(fs::is_empty(place_.path() + "/tmp"));
  EXPECT_EQ(Listing(kExample), before);
}

/// As if the sensors had been switched off and on.
TEST_F(SensorsExample, ASecondFleetIsTakenAsTheFirstWas) {
  Broker broker;
  ASSERT_TRUE(broker.Start());
  Process server(place_.path(), {"serve", kExample / "lossless.toml", "--set",
                                 "stream.temp.broker=" + broker.address(), "--set",
                                 "server.listen=[\"ipc\"]", "--set", "run.name=sensors"});
  ASSERT_TRUE(server.Says(": connected")) << server.Errors();
  const auto stream = [&] {
    const Json said = Json::parse(
        RunMurmurate(place_.path(), {"status", "sensors", "--json"}).output, nullptr, false);
    return said.is_object() && !said["streams"].empty() ? said["streams"][0] : Json::object();
  };
  for (int fleets = 1; fleets <= 3; ++fleets) {
    const Ran fleet =
        RunMurmurate(place_.path(), {"actor", "sensors", "--broker", broker.address(), "--devices",
                                     "4", "--rate", "20", "--seconds", "1"});
    EXPECT_EQ(fleet.code, 0) << fleet.errors;
    EXPECT_TRUE(Eventually(20, [&] { return stream().value("messages", 0) == fleets * 80; }))
        << stream();
  }
  const Json at_end = stream();
  EXPECT_EQ(at_end["refused"], Json::object());
  EXPECT_EQ(at_end["gaps"], 0);
  EXPECT_EQ(at_end["devices"], 4);
  server.Send(SIGINT);
  EXPECT_EQ(server.Wait(20), 0);
}

}  // namespace
}  // namespace murmurate
