// `murmurate doctor` as a user meets it, on a machine that may have no GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/server/process.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

/// What `doctor --json` says of one thing; null: nothing.
nlohmann::json LineOf(const nlohmann::json& report, const std::string& what) {
  for (const auto& line : report.at("lines"))
    if (line.at("what") == what) return line;
  return nullptr;
}

nlohmann::json Report(const Workplace& place, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"doctor", "--json"});
  return nlohmann::json::parse(RunMurmurate(place.path(), arguments).output);
}

bool HasDriver(const Workplace& place) {
  const auto driver = LineOf(Report(place, {}), "NVIDIA driver");
  return !driver.is_null() && driver.at("state") == "ok";
}

TEST(Doctor, NamesEachThingWithItsStateAndIsContentWhenNothingWasAskedFor) {
  Workplace place;
  const Ran ran = RunMurmurate(place.path(), {"doctor"});
  EXPECT_EQ(ran.code, 0) << ran.errors;
  for (const char* what : {"plug-in hdf5", "plug-in mpi", "plug-in cuda"})
    EXPECT_THAT(ran.output, ContainsRegex("(^|\n)(ok|note) +" + std::string(what) + " "));
  for (const char* what : {"locked memory", "huge pages", "shared memory"})
    EXPECT_THAT(ran.output, ContainsRegex("(^|\n)(ok|note|missing) +" + std::string(what) + " "));
  EXPECT_EQ(place.LeftBehind(), "");
}

TEST(Doctor, SaysTheSameToPrograms) {
  Workplace place;
  const nlohmann::json report = Report(place, {});
  EXPECT_EQ(report.at("ok"), true);
  EXPECT_EQ(report.at("device"), "");
  for (const auto& line : report.at("lines")) {
    EXPECT_FALSE(line.at("what").get<std::string>().empty());
    EXPECT_FALSE(line.at("found").get<std::string>().empty()) << line.dump();
    EXPECT_EQ(line.at("asked"), false);
  }
  EXPECT_EQ(LineOf(report, "murmurate").at("state"), "ok");
}

TEST(Doctor, ADeviceThatIsMissingIsExitCodeFiveAndSaysWhatIsMissing) {
  Workplace place;
  if (HasDriver(place)) GTEST_SKIP() << "a driver is running here";
  const Ran ran = RunMurmurate(place.path(), {"doctor", "--device", "cuda:0"});
  EXPECT_EQ(ran.code, 5) << ran.output;
  EXPECT_THAT(ran.output, ContainsRegex("(^|\n)missing +(NVIDIA driver|plug-in cuda) "));
  const nlohmann::json report = Report(place, {"--device", "cuda:0"});
  EXPECT_EQ(report.at("ok"), false);
  EXPECT_EQ(report.at("device"), "cuda:0");
}

TEST(Doctor, ADeviceOfAnotherNameIsAnErrorOfUsage) {
  Workplace place;
  const Ran ran = RunMurmurate(place.path(), {"doctor", "--device", "gpu"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.errors, "device \"gpu\": expected \"cuda\" or \"cuda:N\", N from 0\n");
  EXPECT_EQ(ran.output, "");
}

/// Runs a copy of murmurate that has some of the plug-ins beside it, or none.
class DoctorElsewhere : public testing::Test {
 protected:
  DoctorElsewhere() {
    fs::copy_file(MURMURATE_EXECUTABLE, program());
    for (const char* name : {"LD_LIBRARY_PATH", "MURMURATE_CUDA_PATH"}) unsetenv(name);
  }
  std::string program() const { return place.path() + "/murmurate-copy"; }
  void BringPlugIn() const {
    const std::string file = "murmurate_device_cuda.so";
    fs::copy_file(fs::path(MURMURATE_EXECUTABLE).parent_path() / file, place.path() + '/' + file);
  }
  /// stdout; the exit code is `code`.
  std::string Run(const std::string& options, int code) const {
    const std::string output = place.path() + "/output";
    const int status =
        std::system((program() + " doctor " + options + " > " + output + " 2>&1").c_str());
    EXPECT_EQ(WEXITSTATUS(status), code);
    return place.Read("output");
  }

  Workplace place;
};

TEST_F(DoctorElsewhere, WithoutPlugInsSaysWhichAreMissingAndHowToBuildThem) {
  const std::string said = Run("", 0);
  EXPECT_THAT(said, AllOf(HasSubstr("not built: data sets of .h5 files"),
                          HasSubstr("install libhdf5-dev and build murmurate again"),
                          HasSubstr("murmurate_device_cuda.so is not in " + place.path())));
  EXPECT_THAT(said, Not(HasSubstr("\nmissing")));
  EXPECT_THAT(Run("--device cuda", 5), ContainsRegex("\nmissing +plug-in cuda"));
}

#ifdef MURMURATE_OLD_DRIVER
TEST_F(DoctorElsewhere, ADriverThatIsTooOldIsNamedWithBothVersions) {
  BringPlugIn();
  if (HasDriver(place)) GTEST_SKIP() << "a driver is running here";
  setenv("LD_LIBRARY_PATH", MURMURATE_OLD_DRIVER, 1);
  const std::string said = Run("--device cuda", 5);
  unsetenv("LD_LIBRARY_PATH");
  EXPECT_THAT(said, ContainsRegex("missing +NVIDIA driver +the NVIDIA driver .*has CUDA 11.4, this "
                                  "murmurate was built with CUDA 1[0-9]\\.[0-9]+"));
  EXPECT_THAT(said, HasSubstr("install a newer driver"));
}
#endif

}  // namespace
}  // namespace murmurate
