// The drawings of games of cells, cues and numbers.
#pragma once

#include "client/environments/bandit.h"
#include "client/environments/catch.h"
#include "client/environments/chain.h"
#include "client/environments/gridworld.h"
#include "client/environments/random_game.h"
#include "client/environments/recall.h"
#include "server/pictures/pictures.h"

namespace murmurate {

void DrawBandit(const Bandit& game, const Moment& moment, Canvas* canvas);
void DrawCatch(const Catch& game, const Moment& moment, Canvas* canvas);
void DrawChain(const Chain& game, const Moment& moment, Canvas* canvas);
void DrawGridworld(const Gridworld& game, const Moment& moment, Canvas* canvas);
void DrawRandom(const RandomGame& game, const Moment& moment, Canvas* canvas);
void DrawRecall(const Recall& game, const Moment& moment, Canvas* canvas);

}  // namespace murmurate
