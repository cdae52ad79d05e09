#include "server/pictures/game_drawings.h"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

namespace murmurate {
namespace {

/// Upright bars from a line at `y` of the numbers, each times `scale` pixels high; `chosen` (-1:
/// none) in another colour.
void Bars(std::span<const double> numbers, double y, double scale, int chosen, Canvas* canvas) {
  const double width = 304.0 / static_cast<double>(numbers.size());
  const double gap = width > 4 ? width / 5 : 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const double height = scale * numbers[i];
    canvas->Rectangle({8 + width * static_cast<double>(i), std::min(y, y - height)}, width - gap,
                      std::max(height, -height),
                      static_cast<int>(i) == chosen ? Color::kOrange : Color::kBlue);
  }
  canvas->Rectangle({4, y - 1}, 312, 2, Color::kGray);
}

Color Outcome(const Moment& moment, Color else_color) {
  if (!moment.success) return else_color;
  return *moment.success ? Color::kGreen : Color::kRed;
}

}  // namespace

void DrawBandit(const Bandit& game, const Moment& moment, Canvas* canvas) {
  constexpr double kScale = 36, kLine = 120;
  const int arm = moment.action == nullptr ? -1 : moment.action->choice();
  Bars(game.means(), kLine, kScale, arm, canvas);
  if (arm < 0) return;
  const double reward = std::clamp(moment.reward, -3.0, 3.0);
  canvas->Circle({8 + 30.4 * (arm + 0.4), kLine - kScale * reward}, 6, Color::kYellow);
}

void DrawCatch(const Catch& game, const Moment& moment, Canvas* canvas) {
  constexpr double kCell = 23, kLeft = 160 - kCell * Catch::kColumns / 2, kTop = 5;
  for (int row = 0; row < Catch::kRows; ++row)
    for (int column = 0; column < Catch::kColumns; ++column) {
      const Point corner{kLeft + kCell * column, kTop + kCell * row};
      canvas->Rectangle({corner.x + 1, corner.y + 1}, kCell - 2, kCell - 2, Color::kPanel);
      if (row == Catch::kRows - 1 && column == game.paddle())
        canvas->Rectangle({corner.x + 1, corner.y + 6}, kCell - 2, kCell - 12,
                          Outcome(moment, Color::kBlue));
      if (row == game.ball_row() && column == game.ball_column())
        canvas->Circle({corner.x + kCell / 2, corner.y + kCell / 2}, 8, Color::kOrange);
    }
}

void DrawChain(const Chain& game, const Moment& moment, Canvas* canvas) {
  constexpr double kLine = 220, kHeight = 190;
  std::array<double, Chain::kPlaces> rewards;
  for (std::size_t place = 0; place < rewards.size(); ++place)
    rewards[place] = 0.02 + static_cast<double>(place) / (Chain::kPlaces - 1);
  Bars(rewards, kLine, kHeight, game.place(), canvas);
  if (moment.action == nullptr) return;
  const bool took = moment.action->choice() == 1;
  canvas->Circle({8 + 304.0 / Chain::kPlaces * (game.place() + 0.4), kLine + 10}, 6,
                 took ? Color::kGreen : Color::kRed);
}

void DrawGridworld(const Gridworld& game, const Moment& moment, Canvas* canvas) {
  constexpr double kCell = 34, kLeft = 160 - kCell * Gridworld::kSide / 2, kTop = 1;
  constexpr double kAcross[] = {0, 1, 0, -1}, kDown[] = {-1, 0, 1, 0};
  for (int cell = 0; cell < Gridworld::kCells; ++cell) {
    const Point corner{kLeft + kCell * (cell % Gridworld::kSide),
                       kTop + kCell * (cell / Gridworld::kSide)};
    const Point middle{corner.x + kCell / 2, corner.y + kCell / 2};
    const auto shown = game.map().subspan(static_cast<std::size_t>(cell) * 3, 3);
    canvas->Rectangle({corner.x + 1, corner.y + 1}, kCell - 2, kCell - 2,
                      shown[0] != 0 ? Color::kGray : Color::kPanel);
    if (shown[2] != 0)
      canvas->Rectangle({corner.x + 6, corner.y + 6}, kCell - 12, kCell - 12,
                        Outcome(moment, Color::kGreen));
    if (shown[1] == 0) continue;
    canvas->Circle(middle, 12, Color::kBlue);
    const auto facing = static_cast<std::size_t>(game.facing()[0]);
    canvas->Circle({middle.x + 8 * kAcross[facing], middle.y + 8 * kDown[facing]}, 5,
                   Color::kWhite);
  }
}

void DrawRandom(const RandomGame& game, const Moment&, Canvas* canvas) {
  constexpr std::size_t kMost = 304;
  const auto seen = game.numbers().first(std::min(kMost, game.numbers().size()));
  Bars(std::vector<double>(seen.begin(), seen.end()), 120, 110, -1, canvas);
}

void DrawRecall(const Recall& game, const Moment& moment, Canvas* canvas) {
  constexpr Color kCues[] = {Color::kBlue, Color::kOrange, Color::kPurple, Color::kYellow};
  constexpr double kSide = 110;
  const Point corner{160 - kSide / 2, 18};
  const int shown = game.shown();
  if (shown < Recall::kCues) {
    canvas->Rectangle(corner, kSide, kSide, kCues[shown]);
  } else if (shown < Recall::kQuestion) {
    canvas->Rectangle(corner, kSide, kSide, Color::kPanel);
    for (int dot = 0; dot <= shown - Recall::kCues; ++dot)
      canvas->Circle({corner.x + 22 + 22 * dot, corner.y + kSide / 2}, 8, Color::kGray);
  } else {
    canvas->Rectangle(corner, kSide, kSide, Color::kPanel);
    canvas->Text({corner.x + 20, corner.y + 6}, "?", 14, Color::kWhite);
  }
  for (int cue = 0; cue < Recall::kCues; ++cue) {
    const Point answer{46.0 + 60 * cue, 168};
    if (moment.over && moment.action->choice() == cue)
      canvas->Rectangle({answer.x - 6, answer.y - 6}, 60, 60, Outcome(moment, Color::kWhite));
    canvas->Rectangle(answer, 48, 48, kCues[cue]);
  }
}

}  // namespace murmurate
