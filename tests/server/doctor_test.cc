// `murmurate doctor` as a user meets it, on a machine that may have no GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/server/process.h"
#include "tests/source_file.h"

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

TEST(Doctor, SaysWhatTheMachineHas) {
  Workplace place;
  const nlohmann::json report = Report(place, {});
  for (const char* what : {"processor", "vectors", "memory", "open files", "ports of a learner",
                           "port of the page", "folder of sockets", "shared memory"})
    ASSERT_FALSE(LineOf(report, what).is_null()) << what;
  EXPECT_THAT(LineOf(report, "processor").at("found").get<std::string>(),
              ContainsRegex("[0-9]+ of [0-9]+ cores usable"));
  EXPECT_THAT(LineOf(report, "shared memory").at("found").get<std::string>(),
              HasSubstr("MiB free in /dev/shm"));
  for (const auto& line : report.at("lines"))
    EXPECT_TRUE(line.at("state") == "ok" || !line.at("remedy").get<std::string>().empty() ||
                line.at("what") == "huge pages")
        << "what is missing has a remedy: " << line.dump();
}

/// Containers and the test runner may leave out the first ones.
int FirstUsableCpu() {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  int cpu = 0;
  while (cpu < CPU_SETSIZE - 1 && !CPU_ISSET(cpu, &set)) ++cpu;
  return cpu;
}

TEST(Doctor, OneCoreAndPlainKernelsAreNotesThatSayWhatToChange) {
  Workplace place;
  const std::string doctor = "exec " MURMURATE_EXECUTABLE " doctor --json";
  const std::string output = place.path() + "/output";
  ASSERT_EQ(std::system(("ulimit -n 512; MURMURATE_KERNELS=plain taskset -c " +
                         std::to_string(FirstUsableCpu()) + " sh -c '" + doctor + "' > " + output)
                            .c_str()),
            0);
  const auto report = nlohmann::json::parse(place.Read("output"));
  const auto processor = LineOf(report, "processor"), vectors = LineOf(report, "vectors");
  EXPECT_EQ(processor.at("state"), "note");
  EXPECT_THAT(processor.at("found").get<std::string>(), HasSubstr(", 1 of "));
  EXPECT_THAT(processor.at("remedy").get<std::string>(), HasSubstr("share one core"));
  EXPECT_THAT(vectors.at("found").get<std::string>(), HasSubstr("plain"));
  EXPECT_EQ(vectors.at("state"), "note");
  EXPECT_NE(vectors.at("remedy"), "");
  EXPECT_EQ(LineOf(report, "open files").at("state"), "missing");
  EXPECT_THAT(LineOf(report, "open files").at("remedy").get<std::string>(), HasSubstr("ulimit -n"));
}

/// In a network of its own, in which no other program has a port.
class DoctorAlone : public testing::Test {
 protected:
  /// What `doctor --json` says there, while a program listens at `port`, where that is not 0.
  nlohmann::json Report(int port) const {
    static constexpr char kListen[] =
        "import socket, subprocess, sys\n"
        "port, *command = sys.argv[1:]\n"
        "taken = socket.create_server((\"127.0.0.1\", int(port))) if port != \"0\" else None\n"
        "sys.exit(subprocess.call(command))\n";
    const std::string program = place.Write("listen.py", kListen);
    const std::string command = Script() + " python3 " + program + ' ' + std::to_string(port) +
                                " " MURMURATE_EXECUTABLE " doctor --json > " + place.path() +
                                "/output";
    EXPECT_EQ(std::system(command.c_str()), 0);
    return nlohmann::json::parse(place.Read("output"));
  }
  static std::string Script() { return SourceFile("scripts/own-network.sh"); }
  void SetUp() override {
    if (std::system((Script() + " true").c_str()) != 0) GTEST_SKIP() << "no network of its own";
  }

  Workplace place;
};

TEST_F(DoctorAlone, APortThatIsTakenIsNamed) {
  const auto line = LineOf(Report(7421), "ports of a learner");
  EXPECT_EQ(line.at("state"), "note");
  EXPECT_EQ(line.at("found"),
            "127.0.0.1:7420 to 7422: 7421 cannot be had (Address already in use)");
  EXPECT_THAT(line.at("remedy").get<std::string>(), HasSubstr("server.listen"));
}

TEST_F(DoctorAlone, PortsThatAreFreeAreNothingToChange) {
  const nlohmann::json report = Report(0);
  EXPECT_EQ(LineOf(report, "ports of a learner").at("found"), "127.0.0.1:7420 to 7422 are free");
  EXPECT_EQ(LineOf(report, "port of the page").at("found"), "127.0.0.1:7480 is free");
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
