// The config.toml of a run directory.
#include <gtest/gtest.h>

#include "server/learn/algorithms.h"
#include "shared/model/safetensors.h"
#include "tests/server/config_text.h"
#include "tests/source_file.h"

namespace murmurate {
namespace {

/// The fixture is what a run directory holds of such a config: written by an earlier version, it is
/// what `resume` reads.
TEST(Config, TheResolvedFileOfEarlierRunsIsTheSameAndIsRead) {
  const std::string written = *ReadFile(SourceFile("tests/fixtures/config_written.toml"), 1 << 16);
  const std::string resolved =
      *ReadFile(SourceFile("tests/fixtures/config_resolved.toml"), 1 << 16);
  const auto config = Load(written);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->Resolved(), resolved);
  const auto again = Load(resolved);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->Resolved(), resolved);
  EXPECT_EQ(again->ModelFor("npc", kSpaces)->algorithm.kind, AlgorithmNamed("impala"));
  EXPECT_EQ(again->streams().at(0).forecast.horizons, (std::vector<int>{1, 6}));
}

}  // namespace
}  // namespace murmurate
