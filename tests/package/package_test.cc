// The Debian packages, unpacked beside each other as dpkg would.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <sstream>

#include "tests/package/workshop.h"

namespace murmurate {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

namespace fs = std::filesystem;

/// Made in `place`: package -> file.
std::map<std::string, std::string> Pack(const Workplace& place) {
  const Ran packed = Shell(
      place, MURMURATE_CPACK " --config " MURMURATE_BUILD "/package/CPackConfig.cmake -B packed");
  EXPECT_EQ(packed.code, 0) << packed.output << packed.errors;
  std::map<std::string, std::string> packages;
  for (const auto& entry : fs::directory_iterator(place.path() + "/packed")) {
    const std::string name = entry.path().filename();
    if (name.ends_with(".deb")) packages[name.substr(0, name.find('_'))] = entry.path();
  }
  return packages;
}

std::string Field(const Workplace& place, const std::string& package, const std::string& field) {
  return Shell(place, "dpkg-deb -f " + package + ' ' + field).output;
}

/// pkg-config as dpkg would have it, had it unpacked to `root`.
std::string Flags(const std::string& root) {
  return "$(PKG_CONFIG_PATH=" + root + "/usr/lib/pkgconfig pkg-config --cflags --libs murmurate)";
}

void ExpectPapers(const Workplace& place, const std::string& name, const std::string& root) {
  const std::string folder = root + "/usr/share/doc/" + name;
  const std::string copyright = Shell(place, "cat " + folder + "/copyright").output;
  for (const char* licence :
       {"Apache-2.0", "LGPL", "BSL-1.0", "BSD-2-clause", "BSD-3-clause", "zmq.hpp"})
    EXPECT_THAT(copyright, HasSubstr(licence)) << name;
  EXPECT_THAT(Shell(place, "zcat " + folder + "/changelog.Debian.gz").output,
              HasSubstr("murmurate (0.1.0-1)"))
      << name;
}

/// `file`: the daemon's package, unpacked to `root`.
void ExpectService(const Workplace& place, const std::string& file, const std::string& root) {
  for (const char* path :
       {"/usr/lib/systemd/system/murmurate.service", "/etc/murmurate/serve.toml",
        "/usr/share/man/man1/murmurate.1.gz", "/usr/share/man/man1/murmurate-serve.1.gz",
        "/usr/share/bash-completion/completions/murmurate",
        "/usr/share/zsh/vendor-completions/_murmurate"})
    EXPECT_TRUE(fs::exists(root + path)) << path;
  EXPECT_FALSE(fs::exists(root + "/usr/etc"));
  EXPECT_EQ(Shell(place, "dpkg-deb --ctrl-tarfile " + file + " | tar -xO ./conffiles").output,
            "/etc/murmurate/serve.toml\n");
  EXPECT_THAT(Shell(place, "dpkg-deb --ctrl-tarfile " + file + " | tar -xO").output,
              Not(HasSubstr("systemctl")));  // it is not enabled, and nothing is started
}

TEST(Packages, NameWhatTheyNeedAndHoldAGameThatLearns) {
  const Workplace place;
  const auto packages = Pack(place);
  ASSERT_TRUE(packages.contains("murmurate") && packages.contains("libmurmurate-dev"));
  const std::string needs = Field(place, packages.at("murmurate"), "Depends");
  for (const char* library : {"libc6", "libstdc++6", "libzmq5", "libmosquitto1"})
    EXPECT_THAT(needs, HasSubstr(library));
  EXPECT_THAT(needs, Not(HasSubstr("openmpi")));  // a package of its own
  EXPECT_THAT(
      Field(place, packages.at("libmurmurate-dev"), "Depends"),
      AllOf(HasSubstr("libzmq3-dev"), Not(HasSubstr("cppzmq"))));  // our headers include none
  const std::string root = place.path() + "/root";
  for (const auto& [name, file] : packages) {
    ASSERT_EQ(Shell(place, "dpkg-deb -x " + file + ' ' + root).code, 0);
    ExpectPapers(place, name, root);
  }
  ExpectService(place, packages.at("murmurate"), root);
  const std::string game = root + "/usr/share/doc/libmurmurate-dev/examples/game/game.cpp";
  const Ran built = Shell(place, MURMURATE_CXX " -std=c++20 " + game + ' ' + Flags(root));
  ASSERT_EQ(built.code, 0) << built.errors;
  ExpectThatItLearns(place, root + "/usr/bin/murmurate", "./a.out");
  EXPECT_THAT(Shell(place, root + "/usr/bin/murmurate actor sensors --help").output,
              HasSubstr("--drift-at"));
#if MURMURATE_C_ABI
  ASSERT_TRUE(packages.contains("libmurmurate1"));
  EXPECT_THAT(Field(place, packages.at("libmurmurate1"), "Depends"), HasSubstr("libzmq5"));
  EXPECT_THAT(Field(place, packages.at("libmurmurate-dev"), "Depends"),
              HasSubstr("libmurmurate1 (= "));
  const Ran in_c = Shell(place, "gcc " + game.substr(0, game.size() - 2) + ' ' + Flags(root));
  ASSERT_EQ(in_c.code, 0) << in_c.errors;
  ExpectThatItLearns(place, root + "/usr/bin/murmurate",
                     "env LD_LIBRARY_PATH=" + root + "/usr/lib ./a.out");
#endif
}

}  // namespace
}  // namespace murmurate
