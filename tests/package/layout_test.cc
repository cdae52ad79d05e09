// Where things go: other folders than `lib`, and sources that somebody works in.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "tests/package/workshop.h"
#include "tests/source_file.h"

namespace murmurate {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

namespace fs = std::filesystem;

void Configure(const Workplace& place, const std::string& source, const std::string& options) {
  const Ran ran = Shell(place, MURMURATE_CMAKE " -G Ninja -S " + source + " -B build " + options +
                                   " -DCMAKE_INSTALL_PREFIX=" + place.path() + "/prefix");
  ASSERT_EQ(ran.code, 0) << ran.output << ran.errors;
}

std::string Variable(const Workplace& place, const std::string& libraries,
                     const std::string& variable) {
  return Shell(place, "realpath -m \"$(PKG_CONFIG_PATH=" + libraries +
                          "/pkgconfig pkg-config --variable=" + variable + " murmurate)\"")
      .output;
}

/// lib/x86_64-linux-gnu is CMake's own choice on Debian where the prefix is /usr.
TEST(Layout, PkgConfigNamesTheHeadersAndLibrariesWhereverTheLibrariesAre) {
  const Workplace place;
  const std::string prefix = place.path() + "/prefix";
  for (const std::string& folder :
       {std::string("lib"), std::string("lib/x86_64-linux-gnu"), place.path() + "/elsewhere/lib"}) {
    Configure(place, SourceFile(""), "-DMURMURATE_CLIENT_ONLY=ON -DCMAKE_INSTALL_LIBDIR=" + folder);
    const std::string libraries = fs::path(prefix) / folder;
    fs::create_directories(libraries + "/pkgconfig");
    fs::copy(place.path() + "/build/package/murmurate.pc", libraries + "/pkgconfig");
    EXPECT_EQ(Variable(place, libraries, "prefix"), prefix + '\n') << folder;
    EXPECT_EQ(Variable(place, libraries, "includedir"), prefix + "/include\n") << folder;
    EXPECT_EQ(Variable(place, libraries, "libdir"), libraries + '\n') << folder;
  }
}

/// `pip install -e` leaves a library among the sources of the Python package.
TEST(Layout, PlugInsGoWhereTheDaemonLooksAndNoLibraryIntoThePythonPackage) {
  const Workplace place;
  const Ran copied =
      Shell(place, "mkdir clone && tar -C " + SourceFile("") +
                       " -c --exclude=./build --exclude=./.git . | tar -C clone -x &&"
                       " touch clone/python/src/murmurate/libmurmurate.so.1");
  ASSERT_EQ(copied.code, 0) << copied.errors;
  Configure(place, "clone",
            "-DMURMURATE_TESTS=OFF -DMURMURATE_BENCH=OFF"
            " -DCMAKE_INSTALL_LIBDIR=lib/x86_64-linux-gnu");
  const Ran compiled = Shell(place, "ninja -C build -t commands murmurate | grep /collective.cc.o");
  EXPECT_THAT(compiled.output, HasSubstr("../lib/x86_64-linux-gnu/murmurate"));
  const std::string installs = place.Read("build/cmake_install.cmake");
  if (installs.find("murmurate_collective_mpi.so") != std::string::npos) {
    EXPECT_THAT(installs, HasSubstr("/lib/x86_64-linux-gnu/murmurate/murmurate_collective_mpi.so"));
  }
  const Ran installed = Shell(place, MURMURATE_CMAKE " --install build --component python");
  ASSERT_EQ(installed.code, 0) << installed.errors;
  std::set<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(place.path() + "/prefix"))
    if (entry.is_regular_file()) names.insert(entry.path().filename());
  EXPECT_THAT(names, AllOf(Contains("__init__.py"), Contains("py.typed")));
  EXPECT_THAT(names, Not(Contains(AnyOf(HasSubstr(".so"), EndsWith(".pyc")))));
}

}  // namespace
}  // namespace murmurate
