#include "tests/client/c_abi/player.h"

int32_t play_plain(mmr_agent* agent, const struct plain_step* step) {
  const int32_t action = mmr_act(agent, step->observation, step->numbers);
  mmr_status status = MMR_OK;
  if (action < 0) return action;
  if ((status = mmr_reward(agent, step->reward / 2)) != MMR_OK) return status;
  if ((status = mmr_reward(agent, step->reward / 2)) != MMR_OK) return status;
  if (step->terminated) status = mmr_end(agent, MMR_TERMINATED, NULL, 0);
  if (step->final_observation != NULL) {
    status = mmr_end(agent, MMR_TRUNCATED, step->final_observation, step->numbers);
  }
  return status != MMR_OK ? status : action;
}

/* The spaces of MixedSpec; `use` gets them while they exist. */
static mmr_agent_options mixed_options(mmr_space see[3], mmr_space act[2], mmr_space sides[2]) {
  static const int32_t weapons[2] = {3, 2};
  mmr_agent_options options = {.size = sizeof options};
  see[0] = mmr_named("camera", mmr_image(2, 2, 1));
  see[1] = mmr_named("place", mmr_box(1));
  see[2] = mmr_named("kind", mmr_discrete(3));
  act[0] = mmr_named("weapon", mmr_multi_discrete(weapons, 2));
  act[1] = mmr_named("turn", mmr_box_between(1, -1, 1));
  sides[0] = mmr_dict(see, 3);
  sides[1] = mmr_dict(act, 2);
  options.observation = &sides[0];
  options.action = &sides[1];
  return options;
}

mmr_agent* new_mixed_agent(mmr_client* client, const char* model) {
  mmr_space see[3], act[2], sides[2];
  mmr_agent_options options = mixed_options(see, act, sides);
  options.model = model;
  return mmr_agent_new(client, &options);
}

mmr_group* new_mixed_group(mmr_client* client, int32_t agents) {
  mmr_space see[3], act[2], sides[2];
  const mmr_agent_options options = mixed_options(see, act, sides);
  return mmr_group_new(client, &options, agents);
}

/* In another order than the space's. */
static mmr_observation show(const struct mixed_scene* scene, mmr_input inputs[3]) {
  inputs[0] = (mmr_input){sizeof *inputs, MMR_FLOAT32, "place", scene->place, 1};
  inputs[1] = (mmr_input){sizeof *inputs, MMR_INT32, "kind", scene->kind, 1};
  inputs[2] = (mmr_input){sizeof *inputs, MMR_UINT8, "camera", scene->camera, 4};
  return (mmr_observation){.size = sizeof(mmr_observation),
                           .inputs = inputs,
                           .input_count = 3,
                           .allowed = scene->allowed,
                           .allowed_count = 5};
}

static mmr_action room_in(struct mixed_action* action) {
  return (mmr_action){.size = sizeof(mmr_action),
                      .choices = action->weapon,
                      .choice_count = 2,
                      .numbers = action->turn,
                      .number_count = 1};
}

mmr_status play_mixed(mmr_agent* agent, const struct mixed_scene* scene,
                      struct mixed_action* action) {
  mmr_input inputs[3];
  const mmr_observation observation = show(scene, inputs);
  const mmr_action room = room_in(action);
  return mmr_act_any(agent, &observation, &room);
}

mmr_status cut_mixed(mmr_agent* agent, const struct mixed_scene* final_scene, int32_t success) {
  mmr_input inputs[3];
  const mmr_observation observation = show(final_scene, inputs);
  return mmr_end_any(agent, MMR_TRUNCATED, success, &observation);
}

mmr_status play_mixed_group(mmr_group* group, const struct mixed_scene* scenes,
                            struct mixed_action* actions, const uint8_t* playing, uint64_t agents) {
  mmr_input inputs[8][3];
  mmr_observation observations[8];
  mmr_action rooms[8];
  for (uint64_t i = 0; i < agents && i < 8; ++i) {
    observations[i] = show(&scenes[i], inputs[i]);
    rooms[i] = room_in(&actions[i]);
  }
  if (playing == NULL) return mmr_group_act_any(group, observations, rooms, agents);
  return mmr_group_act_playing(group, observations, rooms, playing, agents);
}

mmr_status took_mixed(mmr_agent* agent, const struct mixed_action* action) {
  struct mixed_action copy = *action;
  const mmr_action room = room_in(&copy);
  return mmr_took_any(agent, &room);
}
