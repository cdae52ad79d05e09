// MURMURATE_CLIENT_ONLY: who builds only the client needs nothing that only the learner needs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/package/workshop.h"
#include "tests/source_file.h"

namespace murmurate {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// Configures in a folder where nothing that only the learner needs can be found. pkg-config says
/// in asked.txt what it was asked for.
Ran ConfigureInBareMachine(const Workplace& place, const std::string& client_only) {
  place.Write(
      "pkg-config",
      "#!/bin/sh\necho \"$@\" >> " + place.path() +
          "/asked.txt\ncase \"$*\" in *mosquitto*) exit 1;; esac\nexec pkg-config \"$@\"\n");
  std::string command = "chmod +x pkg-config && " MURMURATE_CMAKE " -G Ninja -S " + SourceFile("") +
                        " -B " + client_only + " -DPKG_CONFIG_EXECUTABLE=" + place.path() +
                        "/pkg-config -DMURMURATE_CLIENT_ONLY=" + client_only;
  for (const char* package : {"CLI11", "tomlplusplus", "spdlog", "nlohmann_json", "GTest",
                              "benchmark", "MPI", "dnnl", "prometheus-cpp"})
    command += std::string(" -DCMAKE_DISABLE_FIND_PACKAGE_") + package + "=ON";
  return Shell(place, command);
}

TEST(ClientOnly, IsConfiguredWhereNothingIsThatOnlyTheLearnerNeeds) {
  const Workplace place;
  EXPECT_NE(ConfigureInBareMachine(place, "OFF").code, 0) << "the learner's libraries are hidden";
  const Ran configured = ConfigureInBareMachine(place, "ON");
  ASSERT_EQ(configured.code, 0) << configured.output << configured.errors;
  EXPECT_THAT(place.Read("asked.txt"), HasSubstr("libzmq"));
  const std::string commands = Shell(place, "ninja -C ON -n -v").output;
  EXPECT_THAT(commands, HasSubstr("/client/client.cc"));
  for (const char* elsewhere : {"/server/", "/tests/", "/bench/", "/environments/"})
    EXPECT_THAT(commands, Not(HasSubstr(SourceFile("") + elsewhere)));
}

}  // namespace
}  // namespace murmurate
