/* A game that learns while it is played:  murmurate serve &   then   game_c [ADDRESS] */
#include <murmurate.h>

#include "game_c.h"

int main(int count, char** arguments) {
  mmr_client* client = mmr_connect(count > 1 ? arguments[1] : "tcp://127.0.0.1:7420", NULL);
  mmr_agent* agent = mmr_new_agent(client, mmr_box(GAME_NUMBERS), mmr_discrete(GAME_ACTIONS));
  if (agent == NULL) return fprintf(stderr, "%s\n", mmr_last_error()), 1; /* bad arguments only */
  for (struct game game = game_start(1); game_goes_on(&game);) {
    game_step(&game, mmr_act(agent, game.observation, GAME_NUMBERS));
    mmr_reward(agent, game.reward);
    if (game.won) mmr_end(agent, MMR_TERMINATED, NULL, 0), game_reset(&game);
    if (game.timed_out) mmr_end(agent, MMR_TRUNCATED, game.observation, 4), game_reset(&game);
  }
  return mmr_agent_close(agent), mmr_close(client);
}
