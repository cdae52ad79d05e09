/* The same tiny game as game.h, for C: a hill car without enough power, which must swing back and
 * forth to reach the flag, and says every 500 rounds how often it did. $GAME_ROUNDS: not 20000. */
#ifndef GAME_C_H_
#define GAME_C_H_

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { GAME_NUMBERS = 4, GAME_ACTIONS = 3 };

struct game {
  float position, speed;
  int steps, round, rounds, wins;
  uint32_t random;
  float observation[GAME_NUMBERS]; /* position, speed, height, steps so far (0 to 1) */
  float reward;                    /* of the last step */
  bool won, timed_out;
};

static inline float game_clamp(float x, float low, float high) {
  return x < low ? low : x > high ? high : x;
}

static inline void game_look(struct game* game) {
  game->observation[0] = game->position;
  game->observation[1] = game->speed * 10.0f;
  game->observation[2] = sinf(3.0f * game->position);
  game->observation[3] = (float)game->steps / 400.0f;
}

/* The next round begins. */
static inline void game_reset(struct game* game) {
  game->wins += game->won;
  if (game->round > 0 && game->round % 500 == 0) {
    printf("round %d: the flag was reached %d times of 500\n", game->round, game->wins);
    fflush(stdout);
    game->wins = 0;
  }
  ++game->round;
  game->random = 1664525u * game->random + 1013904223u;
  game->position = -0.6f + 0.2f * (float)(game->random >> 8) / 16777216.0f;
  game->speed = 0.0f;
  game->steps = 0;
  game->won = game->timed_out = false;
  game_look(game);
}

static inline struct game game_start(uint32_t seed) {
  struct game game = {0};
  const char* wanted = getenv("GAME_ROUNDS");
  game.rounds = wanted == NULL ? 20000 : atoi(wanted);
  game.random = seed;
  game_reset(&game);
  return game;
}

static inline bool game_goes_on(const struct game* game) { return game->round <= game->rounds; }

/* 0 push left, 1 coast, 2 push right. */
static inline void game_step(struct game* game, int action) {
  game->speed += 0.0015f * (float)(action - 1) - 0.0025f * cosf(3.0f * game->position);
  game->speed = game_clamp(game->speed, -0.07f, 0.07f);
  game->position = game_clamp(game->position + game->speed, -1.2f, 0.6f);
  if (game->position <= -1.2f) game->speed = 0.0f;
  ++game->steps;
  game->won = game->position >= 0.5f;
  game->timed_out = !game->won && game->steps >= 400;
  game->reward = game->won ? 100.0f : -1.0f + 10.0f * fabsf(game->speed);
  game_look(game);
}

#endif
