#include "shared/model/state.h"

#include <gtest/gtest.h>

#include <array>

namespace murmurate {
namespace {

TEST(State, GivesBackWhatEachOwnerWrote) {
  SavedState state;
  const StateWriter writer(&state, "learner");
  writer.Floats("moments", std::array{1.5f, -2.0f});
  writer.Section("rewards").Doubles("mean", std::array{0.1});
  writer.Section("random").Words("state", std::array<std::uint64_t, 2>{7, UINT64_MAX});

  const StateReader reader(state, "learner");
  std::array<float, 2> moments{};
  std::array<double, 1> mean{};
  std::array<std::uint64_t, 2> words{};
  ASSERT_TRUE(reader.Floats("moments", moments).ok());
  ASSERT_TRUE(reader.Section("rewards").Doubles("mean", mean).ok());
  ASSERT_TRUE(reader.Section("random").Words("state", words).ok());
  EXPECT_EQ(moments, (std::array{1.5f, -2.0f}));
  EXPECT_EQ(mean[0], 0.1);
  EXPECT_EQ(words, (std::array<std::uint64_t, 2>{7, UINT64_MAX}));
}

TEST(State, AMissingNameOrAnotherLengthChangesNothingAndIsNamed) {
  SavedState state;
  StateWriter(&state, "optimizer").Floats("first", std::array{1.0f, 2.0f});
  const StateReader reader(state, "optimizer");
  std::array<float, 3> values{9, 9, 9};
  EXPECT_NE(reader.Floats("second", values).message().find("optimizer.second"), std::string::npos);
  const Status length = reader.Floats("first", values);
  EXPECT_EQ(length.code(), StatusCode::kInvalidData);
  EXPECT_NE(length.message().find("has 2 numbers, expected 3"), std::string::npos);
  EXPECT_EQ(values, (std::array<float, 3>{9, 9, 9}));
}

TEST(State, ListsOfAnyLengthComeBackWhole) {
  SavedState state;
  const StateWriter writer(&state, "agents");
  writer.Words("steps", std::array<std::uint64_t, 3>{1, 2, 3});
  writer.Doubles("returns", {});
  const StateReader reader(state, "agents");
  const auto steps = reader.AllWords("steps");
  ASSERT_TRUE(steps.ok());
  EXPECT_EQ(std::vector(steps->begin(), steps->end()), (std::vector<std::uint64_t>{1, 2, 3}));
  ASSERT_TRUE(reader.AllDoubles("returns").ok());
  EXPECT_TRUE(reader.AllDoubles("returns")->empty());
  EXPECT_EQ(reader.AllDoubles("steps").status().code(), StatusCode::kInvalidData);
  EXPECT_NE(reader.AllWords("episodes").status().message().find("agents.episodes"),
            std::string::npos);
}

}  // namespace
}  // namespace murmurate
