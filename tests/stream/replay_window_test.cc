// ReplayWindow: what is kept, drawn and counted, and that it forgets less.
#include "server/stream/replay_window.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/stream/forecasting.h"

namespace murmurate {
namespace {

constexpr int kLength = 3, kRoom = 6;
const Layer kGru{.units = 4, .kind = Layer::Kind::kGru};

TrajectoryLayout Layout() { return {SpecOf(OneField(kLength), kGru), kLength}; }

/// A sequence all of whose numbers say `mark`.
void Put(TrainingBatch* batch, int mark) {
  const std::size_t place = batch->trajectories.size();
  const auto fill = [&](auto& column, float value) {
    const std::size_t each = column.size() / kRoom;
    for (std::size_t i = 0; i < each; ++i)
      column[place * each + i] = static_cast<std::remove_reference_t<decltype(column[0])>>(value);
  };
  fill(batch->observation, static_cast<float>(mark));
  fill(batch->action, static_cast<float>(10 * mark));
  fill(batch->flags, static_cast<float>(mark % 2));
  fill(batch->weight, 0.0f);
  batch->weight[place * kLength + 1] = 1.0f;
  fill(batch->state0, static_cast<float>(-mark));
  batch->trajectories.push_back({.agent = static_cast<std::uint32_t>(place),
                                 .first_step = static_cast<std::uint64_t>(mark),
                                 .steps = 2});
}

int MarkAt(const TrainingBatch& batch, std::size_t place) {
  return static_cast<int>(batch.observation[place * kLength * batch.layout.row_words()]);
}

/// New ones of these marks through the window: how many came again.
int Mix(ReplayWindow* window, TrainingBatch* batch, const std::vector<int>& marks) {
  batch->Clear();
  for (const int mark : marks) Put(batch, mark);
  return window->Mix(batch);
}

TEST(ReplayWindow, TheFirstBatchIsNewAloneAndLaterOnesAreHalfOld) {
  ReplayWindow window(Layout(), 10, 1);
  TrainingBatch batch(Layout(), kRoom);
  EXPECT_EQ(Mix(&window, &batch, {1, 2}), 0);
  EXPECT_EQ(batch.samples, TrainingBatch::Samples::kNew);
  EXPECT_EQ(window.size(), 2);
  EXPECT_EQ(Mix(&window, &batch, {3, 4, 5}), 3);
  EXPECT_EQ(batch.samples, TrainingBatch::Samples::kRead) << "its loss is not one of new rows";
  ASSERT_EQ(batch.trajectories.size(), 6u);
  for (std::size_t place = 0; place < 3; ++place) EXPECT_EQ(MarkAt(batch, place), 3 + (int)place);
  for (std::size_t place = 3; place < 6; ++place) EXPECT_LE(MarkAt(batch, place), 2);
  EXPECT_EQ(window.size(), 5);
  EXPECT_EQ(window.drawn(), 3u);
}

TEST(ReplayWindow, OldOnesTakeOnlyTheRoomThatNewOnesLeave) {
  ReplayWindow window(Layout(), 10, 1);
  TrainingBatch batch(Layout(), kRoom);
  Mix(&window, &batch, {1, 2, 3});
  EXPECT_EQ(Mix(&window, &batch, {4, 5, 6, 7}), 2);
  EXPECT_EQ(Mix(&window, &batch, {8, 9, 10, 11, 12, 13}), 0);
  EXPECT_EQ(batch.samples, TrainingBatch::Samples::kNew);
  EXPECT_EQ(window.size(), 10);
}

TEST(ReplayWindow, WhatComesAgainIsAllThatStoodThere) {
  ReplayWindow window(Layout(), 10, 1);
  TrainingBatch batch(Layout(), kRoom);
  Mix(&window, &batch, {7});
  Mix(&window, &batch, {8});
  ASSERT_EQ(batch.trajectories.size(), 2u);
  const std::size_t width = batch.layout.row_words(), states = 4;
  for (std::size_t i = kLength * width; i < 2 * kLength * width; ++i)
    EXPECT_EQ(batch.observation[i], 7.0f);
  for (std::size_t i = kLength; i < 2 * kLength; ++i) {
    EXPECT_EQ(batch.action[i], 70);
    EXPECT_EQ(batch.flags[i], 1);
    EXPECT_EQ(batch.weight[i], i == kLength + 1 ? 1.0f : 0.0f) << "what it taught, it teaches";
  }
  ASSERT_EQ(batch.state0.size(), kRoom * states);
  for (std::size_t i = states; i < 2 * states; ++i) EXPECT_EQ(batch.state0[i], -7.0f);
  EXPECT_EQ(batch.trajectories[1].agent, 1u) << "its place";
  EXPECT_EQ(batch.trajectories[1].first_step, 7u);
  EXPECT_EQ(batch.trajectories[1].steps, 2);
}

TEST(ReplayWindow, IsARingOfTheLastAndDrawsFromAllOfThem) {
  ReplayWindow window(Layout(), 4, 1);
  TrainingBatch batch(Layout(), kRoom);
  for (int mark = 1; mark <= 9; ++mark) Mix(&window, &batch, {mark});
  EXPECT_EQ(window.size(), 4);
  std::map<int, int> drawn;
  for (int i = 0; i < 400; ++i) {
    Mix(&window, &batch, {10 + i});
    ++drawn[10 + i - MarkAt(batch, 1)];
  }
  ASSERT_EQ(drawn.size(), 4u);
  for (const auto& [age, times] : drawn) {
    EXPECT_GE(age, 1);
    EXPECT_LE(age, 4);
    EXPECT_NEAR(times, 100, 40) << "four standard deviations of 8.7, and some";
  }
}

TEST(ReplayWindow, TakesNoMoreThanItSays) {
  const TrajectoryLayout layout = Layout();
  // Observations of value, change and gap, a label, a weight, a flag of three rows; four of state.
  EXPECT_EQ(ReplayWindow::BytesOf(layout, 1), 3 * (12 + 4 + 4 + 1) + 16 + sizeof(BatchTrajectory));
  EXPECT_EQ(ReplayWindow::BytesOf(layout, 1000), 1000 * ReplayWindow::BytesOf(layout, 1));
  EXPECT_EQ(ReplayWindow::BytesOf(layout, 0), 0u);
}

TEST(ReplayWindow, GoesOnDrawingAsItWasSaved) {
  ReplayWindow window(Layout(), 10, 1), again(Layout(), 10, 2);
  TrainingBatch batch(Layout(), kRoom), other(Layout(), kRoom);
  const std::vector<int> first{1, 2, 3, 4, 5, 6}, second{7}, third{8, 9, 10};
  for (const auto& marks : {first, second}) {
    Mix(&window, &batch, marks);
    Mix(&again, &other, marks);
  }
  SavedState state;
  window.Save(StateWriter(&state, "replay"));
  ASSERT_TRUE(again.Load(StateReader(state, "replay")).ok());
  EXPECT_EQ(Mix(&window, &batch, third), 3);
  EXPECT_EQ(Mix(&again, &other, third), 3);
  for (std::size_t place = 3; place < 6; ++place)
    EXPECT_EQ(MarkAt(batch, place), MarkAt(other, place));
  EXPECT_TRUE(again.Load(StateReader(SavedState(), "replay")).ok()) << "saved without a window";
  state.words["replay.random"].pop_back();
  EXPECT_FALSE(again.Load(StateReader(state, "replay")).ok());
}

}  // namespace
}  // namespace murmurate
