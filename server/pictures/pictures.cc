#include "server/pictures/pictures.h"

#include <algorithm>
#include <iterator>

#include "server/pictures/game_drawings.h"
#include "server/pictures/motion_drawings.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

template <typename Game, void (*draw)(const Game&, const Moment&, Canvas*)>
void Draw(const Environment& environment, const Moment& moment, Canvas* canvas) {
  const auto* const game = dynamic_cast<const Game*>(&environment.unwrapped());
  MURMURATE_CHECK(game != nullptr, "the environment is of the game that is drawn");
  draw(*game, moment, canvas);
}

// Steps a second: as Gymnasium shows those that it has, else what the eye can follow.
constexpr GamePicture kPictures[] = {
    {"acrobot", 15, Draw<Acrobot, DrawAcrobot>},
    {"bandit", 1, Draw<Bandit, DrawBandit>},
    {"cartpole", 50, Draw<CartPole, DrawCartPole>},
    {"catch", 5, Draw<Catch, DrawCatch>},
    {"chain", 15, Draw<Chain, DrawChain>},
    {"gridworld", 5, Draw<Gridworld, DrawGridworld>},
    {"mountain_car", 30, Draw<MountainCar, DrawMountainCar>},
    {"mountain_car_continuous", 30, Draw<MountainCarContinuous, DrawMountainCarContinuous>},
    {"pendulum", 30, Draw<Pendulum, DrawPendulum>},
    {"random", 5, Draw<RandomGame, DrawRandom>},
    {"recall", 2, Draw<Recall, DrawRecall>},
    {"regulator", 10, Draw<Regulator, DrawRegulator>},
};

}  // namespace

const GamePicture* PictureOf(std::string_view game) {
  const auto* const found = std::ranges::find(kPictures, game, &GamePicture::game);
  return found == std::end(kPictures) ? nullptr : found;
}

}  // namespace murmurate
