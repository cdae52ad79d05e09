/* A C program's part of the tests: every call that plays, as C. */
#ifndef TESTS_CLIENT_C_ABI_PLAYER_H_
#define TESTS_CLIENT_C_ABI_PLAYER_H_

#include <murmurate.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the game of tests/client/game.h does in one step. */
struct plain_step {
  const float* observation;
  uint64_t numbers;
  float reward;                   /* given in two halves */
  int32_t terminated;             /* 1: ends */
  const float* final_observation; /* not NULL: is cut */
};
/* The action, or a status. */
int32_t play_plain(mmr_agent* agent, const struct plain_step* step);

/* What the game of tests/client/mixed_game.h shows, and what an agent did. */
struct mixed_scene {
  float place[1];
  int32_t kind[1];
  uint8_t camera[4];
  uint8_t allowed[5];
};
struct mixed_action {
  int32_t weapon[2];
  float turn[1];
};
mmr_agent* new_mixed_agent(mmr_client* client, const char* model);
mmr_group* new_mixed_group(mmr_client* client, int32_t agents);
mmr_status play_mixed(mmr_agent* agent, const struct mixed_scene* scene,
                      struct mixed_action* action);
mmr_status cut_mixed(mmr_agent* agent, const struct mixed_scene* final_scene, int32_t success);
/* At most 8 agents; playing: NULL, or who acts. */
mmr_status play_mixed_group(mmr_group* group, const struct mixed_scene* scenes,
                            struct mixed_action* actions, const uint8_t* playing, uint64_t agents);
mmr_status took_mixed(mmr_agent* agent, const struct mixed_action* action);

#ifdef __cplusplus
}
#endif
#endif
