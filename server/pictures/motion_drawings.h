// The drawings of games of bodies that move.
#pragma once

#include "client/environments/acrobot.h"
#include "client/environments/cartpole.h"
#include "client/environments/mountain_car.h"
#include "client/environments/mountain_car_continuous.h"
#include "client/environments/pendulum.h"
#include "client/environments/regulator.h"
#include "server/pictures/pictures.h"

namespace murmurate {

void DrawAcrobot(const Acrobot& game, const Moment& moment, Canvas* canvas);
void DrawCartPole(const CartPole& game, const Moment& moment, Canvas* canvas);
void DrawMountainCar(const MountainCar& game, const Moment& moment, Canvas* canvas);
void DrawMountainCarContinuous(const MountainCarContinuous& game, const Moment& moment,
                               Canvas* canvas);
void DrawPendulum(const Pendulum& game, const Moment& moment, Canvas* canvas);
void DrawRegulator(const Regulator& game, const Moment& moment, Canvas* canvas);

}  // namespace murmurate
