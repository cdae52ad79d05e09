#include "client/environments/chain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace murmurate {
namespace {

int PlaceOf(const Chain& game) {
  const Observation seen = game.observation();
  const auto* shown = static_cast<const float*>(seen.parts()[0].data());
  EXPECT_EQ(std::accumulate(shown, shown + Chain::kPlaces, 0.0f), 1.0f);
  return static_cast<int>(std::find(shown, shown + Chain::kPlaces, 1.0f) - shown);
}

TEST(Chain, WalksOnWhateverIsDoneAndIsCutInItsLastPlace) {
  for (const int action : {0, 1}) {
    Chain game;
    double sum = 0;
    for (int step = 0; step < Chain::kPlaces; ++step) {
      ASSERT_EQ(PlaceOf(game), step);
      const StepOutcome outcome = game.Step(action);
      EXPECT_FALSE(outcome.terminated);
      ASSERT_EQ(outcome.truncated, step == Chain::kPlaces - 1) << step;
      sum += outcome.reward;
    }
    EXPECT_EQ(PlaceOf(game), Chain::kPlaces - 1) << "it stays there";
    EXPECT_DOUBLE_EQ(sum, action == 1 ? 30.0 : 0.0);
    game.Reset();
    EXPECT_EQ(PlaceOf(game), 0);
  }
}

}  // namespace
}  // namespace murmurate
