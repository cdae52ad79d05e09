#include "shared/trajectory/frame_stack.h"

#include <gmock/gmock.h>

#include "shared/model/policy_and_value.h"
#include "tests/experience/mixed_trajectory.h"

namespace murmurate {
namespace {

using ::testing::ElementsAre;

PolicyAndValue Stacked(const Space& observation, int stack) {
  PolicyAndValue spec{.spaces = {observation, Discrete(2)}, .trunk = {}};
  spec.encoders = {{.input = "", .stack = stack, .layers = {}}};
  return spec;
}

std::vector<int> Assembled(const FrameStack& stack,
                           const std::vector<const std::vector<std::uint8_t>*>& frames) {
  std::vector<const std::byte*> rows;
  for (const auto* frame : frames) {
    rows.push_back(frame == nullptr ? nullptr : reinterpret_cast<const std::byte*>(frame->data()));
  }
  std::vector<std::byte> row(stack.row_bytes(), std::byte{99});
  stack.Assemble(rows, row.data());
  std::vector<int> numbers;
  for (const std::byte b : row) numbers.push_back(std::to_integer<int>(b));
  return numbers;
}

TEST(FrameStack, APixelHoldsTheOldestFramesChannelsFirst) {
  const FrameStack stack(Stacked(Image({1, 2, 2}), 3));
  EXPECT_EQ(stack.depth(), 3);
  EXPECT_THAT(stack.stacked().inputs()[0].shape, ElementsAre(1, 2, 6));
  const std::vector<std::uint8_t> now = {1, 2, 3, 4}, before = {11, 12, 13, 14},
                                  first = {21, 22, 23, 24};
  EXPECT_THAT(Assembled(stack, {&now, &before, &first}),
              ElementsAre(21, 22, 11, 12, 1, 2, 23, 24, 13, 14, 3, 4));
}

TEST(FrameStack, FramesBeforeTheEpisodeAreZeros) {
  const FrameStack stack(Stacked(Image({1, 2, 2}), 3));
  const std::vector<std::uint8_t> now = {1, 2, 3, 4}, before = {11, 12, 13, 14};
  EXPECT_THAT(Assembled(stack, {&now, &before, nullptr}),
              ElementsAre(0, 0, 11, 12, 1, 2, 0, 0, 13, 14, 3, 4));
  EXPECT_THAT(Assembled(stack, {&now, nullptr, nullptr}),
              ElementsAre(0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 3, 4));
}

TEST(FrameStack, FourFramesOfOneChannelAreTheSameWithAndWithoutZeros) {
  for (const Space& space : {Image({2, 2}), Image({2, 2, 1})}) {
    const FrameStack stack(Stacked(space, 4));
    const std::vector<std::uint8_t> a = {1, 2, 3, 4}, b = {5, 6, 7, 8}, c = {9, 10, 11, 12},
                                    d = {13, 14, 15, 16};
    EXPECT_THAT(Assembled(stack, {&a, &b, &c, &d}),
                ElementsAre(13, 9, 5, 1, 14, 10, 6, 2, 15, 11, 7, 3, 16, 12, 8, 4));
    EXPECT_THAT(Assembled(stack, {&a, &b, &c, nullptr}),
                ElementsAre(0, 9, 5, 1, 0, 10, 6, 2, 0, 11, 7, 3, 0, 12, 8, 4));
  }
}

TEST(FrameStack, AVectorIsOnePixel) {
  const FrameStack stack(Stacked(Box({2}), 2));
  const float now[] = {1, 2}, before[] = {3, 4};
  const std::byte* rows[] = {reinterpret_cast<const std::byte*>(now),
                             reinterpret_cast<const std::byte*>(before)};
  float row[4];
  stack.Assemble(rows, reinterpret_cast<std::byte*>(row));
  EXPECT_THAT(row, ElementsAre(3, 4, 1, 2));
}

TEST(FrameStack, InputsThatAreNotStackedComeFromThePresentRow) {
  const FrameStack stack(MixedSpec());
  EXPECT_EQ(stack.row_bytes(), 4u + 4 + 12);
  std::vector<std::byte> now, before, first, row(20);
  MixedTrajectory::AppendRow(3, 2, &now);
  MixedTrajectory::AppendRow(2, 1, &before);
  MixedTrajectory::AppendRow(1, 0, &first);
  const std::byte* rows[] = {now.data(), before.data(), first.data()};
  stack.Assemble(rows, row.data());
  EXPECT_EQ(PositionIn(row.data()), 3.0f);
  EXPECT_EQ(std::to_integer<int>(row[4]), 2);
  for (int pixel = 0; pixel < 4; ++pixel) {
    for (int frame = 0; frame < 3; ++frame) {
      EXPECT_EQ(std::to_integer<int>(row[8 + 3 * pixel + frame]), 10 * (frame + 1));
    }
  }
  EXPECT_EQ(stack.stacked().Check(row.data()).message(), "");
}

TEST(FrameStack, WithoutStacksRowsAreWhatTheModelSees) {
  const FrameStack stack(PolicyAndValue{.spaces = {Box({3}), Discrete(2)}, .trunk = {}});
  EXPECT_EQ(stack.depth(), 1);
  EXPECT_EQ(stack.row_bytes(), 12u);
}

}  // namespace
}  // namespace murmurate
