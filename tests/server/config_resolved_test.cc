// The config.toml of a run directory.
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "server/learn/algorithms.h"
#include "shared/model/safetensors.h"
#include "tests/server/config_text.h"
#include "tests/source_file.h"

namespace murmurate {
namespace {

/// The lines that set something. A key that its algorithm has no use for is spelled out as not set
/// only where nothing else in the file sets it.
std::string SetLinesOf(const std::string& resolved) {
  std::string lines;
  std::istringstream all(resolved);
  for (std::string line; std::getline(all, line);)
    if (!line.starts_with("# ")) lines += line + '\n';
  return lines;
}

/// The fixture is what a run directory holds of such a config: written by an earlier version, it is
/// what `resume` reads.
TEST(Config, TheResolvedFileOfEarlierRunsIsTheSameAndIsRead) {
  const std::string written = *ReadFile(SourceFile("tests/fixtures/config_written.toml"), 1 << 16);
  const std::string resolved =
      *ReadFile(SourceFile("tests/fixtures/config_resolved.toml"), 1 << 16);
  const auto config = Load(written);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(ResolvedToml(*config), resolved);
  const auto again = Load(resolved);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(SetLinesOf(ResolvedToml(*again)), SetLinesOf(resolved));
  EXPECT_EQ(ModelFor(*again, "npc", kSpaces)->algorithm.kind, AlgorithmNamed("impala"));
  EXPECT_EQ(again->streams().at(0).forecast.horizons, (std::vector<int>{1, 6}));
}

}  // namespace
}  // namespace murmurate
