/* As wrong_game.cc, in C: wrong_game_c ADDRESS NAME nan|no-end|fast|wide [quiet|log] */
#include <math.h>
#include <murmurate.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static void say(void* user, int32_t level, const char* text) {
  (void)user;
  (void)level;
  printf("%s\n", text);
  fflush(stdout);
}

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const char* way = argv[3];
  const char* listens = argc > 4 ? argv[4] : "";
  const int numbers = strcmp(way, "wide") == 0 ? 5 : 4;
  mmr_client_options options;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.name = argv[2];
  options.pace = strcmp(way, "fast") == 0 ? MMR_PACE_NEVER : MMR_PACE_CREDIT;
  options.quiet = strcmp(listens, "quiet") == 0;
  if (strcmp(listens, "log") == 0) options.log = say;
  mmr_client* client = mmr_connect(argv[1], &options);
  mmr_agent* agent = mmr_new_agent(client, mmr_box(numbers), mmr_discrete(2));
  if (agent == NULL) return fprintf(stderr, "%s\n", mmr_last_error()), 1;
  const time_t until = time(NULL) + 120;
  float seen[5] = {0.5f, 0.5f, 0.5f, 0.5f, 0.5f};
  for (unsigned long step = 1; time(NULL) < until; ++step) {
    seen[2] = strcmp(way, "nan") == 0 && step % 50 == 0 ? nanf("") : 0.5f;
    mmr_act(agent, seen, (uint64_t)numbers);
    mmr_reward(agent, 1.0);
    if (step % 20 == 0 && strcmp(way, "no-end") != 0) mmr_end(agent, MMR_TERMINATED, NULL, 0);
  }
  mmr_agent_close(agent);
  mmr_close(client);
  return 0;
}
