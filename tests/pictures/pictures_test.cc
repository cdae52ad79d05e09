#include "server/pictures/pictures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "client/environments/cartpole.h"
#include "client/environments/catch.h"
#include "client/environments/gridworld.h"
#include "client/environments/pendulum.h"
#include "server/pictures/game_frame.h"

namespace murmurate {
namespace {

Canvas Drawn(std::string_view game, const Environment& environment, const Moment& moment = {}) {
  Canvas canvas(kPictureWidth, kPictureHeight);
  PictureOf(game)->draw(environment, moment, &canvas);
  return canvas;
}

int Count(const Canvas& canvas, Color color) {
  return static_cast<int>(std::ranges::count(canvas.pixels(), static_cast<std::uint8_t>(color)));
}

/// The mean place of the pixels of a colour.
Point MiddleOf(const Canvas& canvas, Color color) {
  Point sum;
  for (int y = 0; y < canvas.height(); ++y)
    for (int x = 0; x < canvas.width(); ++x)
      if (canvas.at(x, y) == color) sum.x += x, sum.y += y;
  const int count = std::max(1, Count(canvas, color));
  return {sum.x / count, sum.y / count};
}

bool Same(const Canvas& a, const Canvas& b) { return std::ranges::equal(a.pixels(), b.pixels()); }

/// The first action that is allowed, or the upper end of what numbers may be.
Action SomeAction(const Environment& environment) {
  Action action(environment.spaces().action);
  const auto* grid = dynamic_cast<const Gridworld*>(&environment.unwrapped());
  if (grid == nullptr) {
    if (action.parts()[0].continuous) std::ranges::fill(action.numbers(), 0.8f);
    return action;
  }
  const auto allowed =
      std::ranges::find_if(grid->mask(), [](std::uint8_t one) { return one != 0; });
  return Action(static_cast<int>(allowed - grid->mask().begin()));
}

TEST(Pictures, EachBuiltInGameHasOneThatShowsWhatHappens) {
  for (const std::string& name : EnvironmentNames()) {
    ASSERT_NE(PictureOf(name), nullptr) << name;
    EXPECT_GT(PictureOf(name)->steps_per_second, 0) << name;
    auto environment = MakeEnvironment(name);
    ASSERT_TRUE(environment.ok());
    (*environment)->Reset(3);
    const Canvas first = Drawn(name, **environment);
    EXPECT_GT(Count(first, Color::kBackground), 1000) << name;
    EXPECT_LT(Count(first, Color::kBackground), kPictureWidth * kPictureHeight - 1000) << name;
    const Action action = SomeAction(**environment);
    StepOutcome outcome;
    int different = 0;
    for (int step = 0; step < 5 && !outcome.terminated; ++step) {
      const Action next = SomeAction(**environment);
      outcome = (*environment)->Step(next);
      const Moment moment{&next, outcome.reward, outcome.terminated, outcome.success};
      different += !Same(first, Drawn(name, **environment, moment));
    }
    EXPECT_GT(different, 0) << name;
  }
}

TEST(Pictures, OfAWrappedGameAreTheSame) {
  auto plain = MakeEnvironment("cartpole");
  auto wrapped = MakeEnvironment("cartpole", {.reward_scale = 3, .step_ms = 0.01});
  ASSERT_TRUE(plain.ok() && wrapped.ok());
  (*plain)->Reset(1);
  (*wrapped)->Reset(1);
  EXPECT_TRUE(Same(Drawn("cartpole", **plain), Drawn("cartpole", **wrapped)));
}

TEST(Pictures, NoOtherGameHasOne) { EXPECT_EQ(PictureOf("chess"), nullptr); }

TEST(Pictures, CartAndPoleAreWhereTheStateSays) {
  CartPole game;
  game.SetState({1.2, 0, 0.2, 0});
  const Canvas canvas = Drawn("cartpole", game);
  const Point cart = MiddleOf(canvas, Color::kBlue), pole = MiddleOf(canvas, Color::kOrange);
  EXPECT_NEAR(cart.x, 160 + 1.2 * 320 / 4.8, 1);
  EXPECT_NEAR(pole.x, cart.x + 65 * std::sin(0.2), 2);
  EXPECT_LT(pole.y, cart.y - 40);
}

TEST(Pictures, APendulumThatStandsIsAboveItsPivotAndTurnsToTheLeft) {
  Pendulum game;
  game.SetState({0, 0});
  EXPECT_NEAR(MiddleOf(Drawn("pendulum", game), Color::kOrange).x, 159.5, 1);
  EXPECT_LT(MiddleOf(Drawn("pendulum", game), Color::kOrange).y, 100);
  game.SetState({1, 0});
  EXPECT_LT(MiddleOf(Drawn("pendulum", game), Color::kOrange).x, 140);
}

TEST(Pictures, TheBallOfCatchFallsAndTheEndHasTheColourOfItsOutcome) {
  Catch game;
  game.Reset(5);
  const double top = MiddleOf(Drawn("catch", game), Color::kOrange).y;
  const Action stay(1);
  StepOutcome outcome;
  while (!outcome.terminated) outcome = game.Step(stay);
  const Canvas end = Drawn("catch", game, {&stay, outcome.reward, true, outcome.success});
  EXPECT_NEAR(MiddleOf(end, Color::kOrange).y - top, 9 * 23, 1);
  EXPECT_GT(Count(end, *outcome.success ? Color::kGreen : Color::kRed), 50);
}

TEST(Canvas, DrawsInsideOnlyWhateverItIsAsked) {
  Canvas canvas(10, 8);
  canvas.Line({-50, -50}, {60, 60}, 3, Color::kRed);
  canvas.Rectangle({-1e12, 2}, 1e13, 1, Color::kBlue);
  canvas.Circle({1e9, 1e9}, 5, Color::kGreen);
  canvas.Text({8, 6}, "W", 1, Color::kWhite);
  EXPECT_EQ(Count(canvas, Color::kBlue), 10);
  EXPECT_EQ(Count(canvas, Color::kGreen), 0);
  EXPECT_GT(Count(canvas, Color::kRed), 10);
}

TEST(Canvas, TextIsOfLettersOnceEach) {
  Canvas capital(12, 8), small(12, 8), other(12, 8);
  capital.Text({0, 0}, "H1", 1, Color::kWhite);
  small.Text({0, 0}, "h1", 1, Color::kWhite);
  other.Text({0, 0}, "H7", 1, Color::kWhite);
  EXPECT_TRUE(Same(capital, small));
  EXPECT_FALSE(Same(capital, other));
  EXPECT_EQ(Count(capital, Color::kWhite), 17 + 10);
}

}  // namespace
}  // namespace murmurate
