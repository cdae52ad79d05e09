// `cmake --install`, and what is built against it: by pkg-config and by find_package.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "tests/package/workshop.h"
#include "tests/source_file.h"

namespace murmurate {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

namespace fs = std::filesystem;

/// Of what cmake --install left in `prefix`.
std::string Flags(const std::string& prefix) {
  return "$(PKG_CONFIG_PATH=" + prefix + "/lib/pkgconfig pkg-config --cflags --libs murmurate)";
}

std::string Libraries(const Workplace& place, const std::string& program) {
  return Shell(place, "readelf -d " + program + " | grep NEEDED").output;
}

std::set<std::string> HeadersOf(const std::string& prefix) {
  std::set<std::string> headers;
  for (const auto& entry : fs::recursive_directory_iterator(prefix + "/include"))
    if (entry.is_regular_file()) headers.insert(fs::relative(entry.path(), prefix + "/include"));
  return headers;
}

TEST(Install, AGameInCppIsBuiltByPkgConfigInOneLineAndLearns) {
  const Workplace place;
  const std::string prefix = Install(place);
  const Ran built = Shell(place, MURMURATE_CXX " -std=c++20 -Wall -Wextra -Wpedantic -Werror " +
                                     SourceFile("examples/game/game.cpp") + " " + Flags(prefix));
  ASSERT_EQ(built.code, 0) << built.errors;
  EXPECT_THAT(Libraries(place, "a.out"), HasSubstr("libzmq.so"));
  EXPECT_THAT(Libraries(place, "a.out"), Not(HasSubstr("libmurmurate")));  // it holds the archive
  ExpectThatItLearns(place, prefix + "/bin/murmurate", "./a.out");
  EXPECT_THAT(Shell(place, prefix + "/bin/murmurate actor sensors --help").output,
              HasSubstr("--drift-at"));
}

#if MURMURATE_C_ABI
TEST(Install, AGameInCIsBuiltByPkgConfigInOneLineAndLearns) {
  const Workplace place;
  const std::string prefix = Install(place);
  const Ran built = Shell(place, "gcc -Wall -Wextra -Wpedantic -Werror " +
                                     SourceFile("examples/game/game.c") + " " + Flags(prefix));
  ASSERT_EQ(built.code, 0) << built.errors;
  EXPECT_THAT(Libraries(place, "a.out"), HasSubstr("libmurmurate.so.1]"));
  EXPECT_THAT(Libraries(place, "a.out"), Not(HasSubstr("libzmq")));  // the library's own business
  EXPECT_THAT(Libraries(place, "a.out"), Not(HasSubstr("libstdc++")));
  ExpectThatItLearns(place, prefix + "/bin/murmurate",
                     "env LD_LIBRARY_PATH=" + prefix + "/lib ./a.out");
}
#endif

TEST(Install, AProgramWithALossOfItsOwnIsBuiltByPkgConfigAndSharesItsModel) {
  const Workplace place;
  const std::string prefix = Install(place);
  const Ran built = Shell(place, MURMURATE_CXX " -std=c++20 -Wall -Wextra -Wpedantic -Werror " +
                                     SourceFile("examples/own-program/least_squares.cpp") +
                                     " $(PKG_CONFIG_PATH=" + prefix +
                                     "/lib/pkgconfig pkg-config --cflags --libs "
                                     "murmurate-parameters)");
  ASSERT_EQ(built.code, 0) << built.errors;
  EXPECT_THAT(Libraries(place, "a.out"), HasSubstr("libmurmurate-parameters.so.1]"));
  const std::string server = "ipc://" + place.path() + "/s";
  const Ran ran = Shell(
      place, prefix +
                 "/bin/murmurate params own-program --shard 0 --quiet --set parameters.workers=2 "
                 "--set 'parameters.shards=[\"" +
                 server + "\"]' & export LD_LIBRARY_PATH=" + prefix + "/lib; ./a.out 0 2 " +
                 server + " > first & ./a.out 1 2 " + server + " > second; wait; cat first second");
  ASSERT_EQ(ran.code, 0) << ran.errors;
  std::istringstream said(ran.output);
  std::string first, second;
  ASSERT_TRUE(std::getline(said, first) && std::getline(said, second)) << ran.output << ran.errors;
  EXPECT_EQ(first, second);
  float weights[4];
  ASSERT_EQ(std::sscanf(first.c_str(), "of 2 processes: %f %f %f, %f", &weights[0], &weights[1],
                        &weights[2], &weights[3]),
            4)
      << first;
  const float truth[] = {1, -2, 3, 0.5};
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(weights[i], truth[i], 1e-4) << first;
}

TEST(Install, GamesAreBuiltByFindPackageAndLearn) {
  const Workplace place;
  const std::string prefix = Install(place);
  const Ran configured =
      Shell(place, MURMURATE_CMAKE " -G Ninja -S " + SourceFile("tests/package/consumer") +
                       " -B game -DCMAKE_PREFIX_PATH=" + prefix + " -DEXAMPLES=" +
                       SourceFile("examples/game") + " -DC_ABI=" + std::to_string(MURMURATE_C_ABI));
  ASSERT_EQ(configured.code, 0) << configured.output << configured.errors;
  const Ran built = Shell(place, MURMURATE_CMAKE " --build game");
  ASSERT_EQ(built.code, 0) << built.output << built.errors;
  ExpectThatItLearns(place, prefix + "/bin/murmurate", "game/game_cpp");
#if MURMURATE_C_ABI
  ExpectThatItLearns(place, prefix + "/bin/murmurate", "game/game_c");
#endif
}

/// A header that a game cannot reach is a secret that got out; one that is missing is seen by the
/// compiler.
TEST(Install, EveryHeaderStandsAloneAndIsReachedFromThoseThatProgramsInclude) {
  const Workplace place;
  const std::string include = Install(place) + "/include";
  std::string roots =
      "#include <murmurate/client.h>\n#include <murmurate/predictor.h>\n"
      "#include <murmurate/parameters.h>\n#include <murmurate_hook.h>\n";
#if MURMURATE_C_ABI
  roots += "#include <murmurate.h>\n";
#endif
  place.Write("game.cpp", roots);
  const std::string compile = MURMURATE_CXX " -std=c++20 -Wall -Wextra -Wpedantic -Werror -I";
  const Ran listed = Shell(place, compile + include + " -MM game.cpp");
  ASSERT_EQ(listed.code, 0) << listed.errors;
  for (const std::string& header : HeadersOf(include + "/..")) {
    EXPECT_THAT(listed.output, HasSubstr('/' + header));
    place.Write("one.cpp", "#include <" + header + ">\n");
    const Ran alone = Shell(place, compile + include + " -fsyntax-only one.cpp");
    EXPECT_EQ(alone.code, 0) << header << ": " << alone.errors;
  }
  EXPECT_GE(HeadersOf(include + "/..").size(), 7u);
}

TEST(Install, DocumentsAreThereAndWhatMakesThemIsNot) {
  const Workplace place;
  const std::string documents = Install(place) + "/share/doc/murmurate/docs";
  EXPECT_TRUE(fs::exists(documents + "/python.md"));
  for (const auto& entry : fs::recursive_directory_iterator(documents)) {
    if (!entry.is_regular_file()) continue;
    EXPECT_THAT(entry.path().extension(), AnyOf(".md", ".svg", ".png")) << entry.path();
  }
}

TEST(Install, NothingOfTheBuildsPlaceIsLeftInWhatTellsBuildersOfGames) {
  const Workplace place;
  const std::string prefix = Install(place);
  for (const auto& entry : fs::recursive_directory_iterator(prefix + "/lib")) {
    const fs::path extension = entry.path().extension();
    if (extension != ".cmake" && extension != ".pc") continue;
    std::stringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    EXPECT_THAT(text.str(), Not(HasSubstr(SourceFile("")))) << entry.path();
    EXPECT_THAT(text.str(), Not(HasSubstr(place.path()))) << entry.path();
  }
}

}  // namespace
}  // namespace murmurate
