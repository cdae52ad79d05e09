/* A C program that is played by a learner until it is good:  trainer ADDRESS STEPS
 * Each step shows one of three signs; the right action is the sign's number. It says the mean
 * reward (1 right, 0 wrong) of every thousand steps, and returns 0 once 95 of 100 are right. */
#include <murmurate.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char** arguments) {
  if (count != 3) return 2;
  mmr_client_options options = {.size = sizeof options};
  options.pace = MMR_PACE_CREDIT;
  options.without_policy = MMR_WITHOUT_WAIT;
  mmr_client* client = mmr_connect(arguments[1], &options);
  mmr_agent* agent = mmr_new_agent(client, mmr_box(3), mmr_discrete(3));
  if (agent == NULL) return fprintf(stderr, "%s\n", mmr_last_error()), 3;
  uint32_t random = 1;
  int right = 0, good = 0;
  for (int step = 1; step <= atoi(arguments[2]) && !good; ++step) {
    random = 1664525u * random + 1013904223u;
    const int32_t sign = (int32_t)((random >> 16) % 3);
    float see[3] = {0};
    see[sign] = 1;
    const int32_t action = mmr_act(agent, see, 3);
    if (action < 0) return fprintf(stderr, "%s\n", mmr_last_error()), 4;
    mmr_reward(agent, action == sign);
    mmr_end(agent, MMR_TERMINATED, NULL, 0);
    right += action == sign;
    if (step % 1000 != 0) continue;
    printf("steps %d: %d of 1000 right\n", step, right);
    fflush(stdout);
    good = right >= 950;
    right = 0;
  }
  mmr_agent_close(agent);
  mmr_close(client);
  return good ? 0 : 1;
}
