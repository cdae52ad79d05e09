// Groups: many agents, one pass of the policy.
#include "client/c_abi/convert.h"
#include "client/c_abi/handles.h"
#include "client/internals.h"

namespace murmurate::c_abi {
namespace {

constexpr std::int32_t kMostAgents = 1 << 20;

mmr_status CheckCount(const mmr_group& group, std::uint64_t given, const char* what) {
  if (given == group.cores.size()) return MMR_OK;
  return Fail("the group has " + std::to_string(group.cores.size()) + " agents, but was given " +
              std::to_string(given) + " " + what);
}

/// Row i of [agents][width], or nothing when there are none.
template <typename T>
std::span<const T> RowOf(const T* rows, std::uint64_t width, std::size_t i) {
  return rows == nullptr ? std::span<const T>() : std::span(rows + i * width, width);
}

mmr_status CheckPlain(const mmr_group& group, const float* observations, std::uint64_t width,
                      const std::uint8_t* allowed, std::uint64_t choices) {
  const AgentCore& first = *group.cores.front();  // all have one space
  if (!first.model()->head.layout().one_choice()) return Fail(kNotOneChoice);
  const mmr_status status = CheckObservation(first, observations, width);
  return status != MMR_OK ? status : CheckMask(first, allowed, choices);
}

bool Plays(const std::uint8_t* playing, std::size_t i) {
  return playing == nullptr || playing[i] != 0;
}

mmr_status CheckAny(const mmr_group& group, const mmr_observation* observations,
                    const mmr_action* actions, const std::uint8_t* playing) {
  if (observations == nullptr || actions == nullptr) {
    return Fail("the observations or the actions are NULL");
  }
  mmr_status status = MMR_OK;
  for (std::size_t i = 0; i < group.cores.size(); ++i) {
    if (!Plays(playing, i)) continue;
    Observation converted;
    mmr_action room;
    status = ToObservation(*group.cores[i], At(observations, i), &converted);
    if (status != MMR_OK) return status;
    status = ReadAction(At(actions, i), group.agents[i]->counts, &room);
    if (status != MMR_OK) return status;
  }
  return status;
}

}  // namespace
}  // namespace murmurate::c_abi

using namespace murmurate;
using namespace murmurate::c_abi;

mmr_group* mmr_group_new(mmr_client* client, const mmr_agent_options* options, int32_t agents) {
  return GuardMaking([&]() -> mmr_group* {
    AgentOptions read;
    if (Check(client) != MMR_OK || ReadAgentOptions(options, &read) != MMR_OK) return nullptr;
    if (agents < 1 || agents > kMostAgents) {
      Fail("a group has 1 to " + std::to_string(kMostAgents) + " agents, not " +
           std::to_string(agents));
      return nullptr;
    }
    std::lock_guard lock(client->making);
    AgentGroup group = client->client->NewAgentGroup(read, agents);
    if (group.size() == 0) {
      Fail(client->client->last_error());
      return nullptr;
    }
    auto made = std::make_unique<mmr_group>(client->home, std::move(group));
    for (std::int32_t i = 0; i < agents; ++i) {
      made->cores.push_back(&Internals::Of(made->group[i]));
      made->agents.push_back(std::make_unique<mmr_agent>(made->cores.back(), true));
    }
    made->players.reserve(made->cores.size());
    return made.release();
  });
}

mmr_status mmr_group_close(mmr_group* group) { return Close(group, HandleKind::kGroup); }

int32_t mmr_group_size(mmr_group* group) {
  const mmr_status status = Check(group);
  return status != MMR_OK ? status : group->group.size();
}

mmr_agent* mmr_group_agent(mmr_group* group, int32_t i) {
  return GuardMaking([&]() -> mmr_agent* {
    if (Check(group) != MMR_OK) return nullptr;
    if (i >= 0 && i < group->group.size()) return group->agents[static_cast<std::size_t>(i)].get();
    Fail("the group has " + std::to_string(group->group.size()) +
         " agents, counted from 0: " + std::to_string(i) + " is none of them");
    return nullptr;
  });
}

mmr_status mmr_group_act(mmr_group* group, const float* observations, uint64_t numbers,
                         int32_t* actions, uint64_t agents, const uint8_t* allowed,
                         uint64_t choices) {
  mmr_status status = Check(group);
  if (status != MMR_OK) return status;
  return Guard([&]() -> mmr_status {
    if (actions == nullptr) return Fail("the actions are NULL");
    if ((status = CheckCount(*group, agents, "actions")) != MMR_OK) return status;
    if ((status = CheckPlain(*group, observations, numbers, allowed, choices)) != MMR_OK) {
      return status;
    }
    for (std::size_t i = 0; i < group->cores.size(); ++i) {
      group->cores[i]->observation().Observe(RowOf(observations, numbers, i));
      group->cores[i]->observation().SetMask(RowOf(allowed, choices, i));
    }
    if (!AgentCore::StepTogether(group->cores)) return Fail(MMR_UNAVAILABLE, kStillWaits);
    for (std::size_t i = 0; i < group->cores.size(); ++i)
      actions[i] = group->cores[i]->action().choice();
    return MMR_OK;
  });
}

mmr_status mmr_group_act_any(mmr_group* group, const mmr_observation* observations,
                             const mmr_action* actions, uint64_t agents) {
  return mmr_group_act_playing(group, observations, actions, nullptr, agents);
}

mmr_status mmr_group_act_playing(mmr_group* group, const mmr_observation* observations,
                                 const mmr_action* actions, const uint8_t* playing,
                                 uint64_t agents) {
  mmr_status status = Check(group);
  if (status != MMR_OK) return status;
  return Guard([&]() -> mmr_status {
    if ((status = CheckCount(*group, agents, "observations")) != MMR_OK) return status;
    if ((status = CheckAny(*group, observations, actions, playing)) != MMR_OK) return status;
    group->players.clear();
    for (std::size_t i = 0; i < group->cores.size(); ++i) {
      if (!Plays(playing, i)) continue;
      Observation converted;
      (void)Convert(At(observations, i), &converted);  // has just been checked
      group->cores[i]->observation().Observe(converted);
      group->cores[i]->observation().SetMask(converted.mask());
      group->players.push_back(group->cores[i]);
    }
    if (!AgentCore::StepTogether(group->players)) return Fail(MMR_UNAVAILABLE, kStillWaits);
    for (std::size_t i = 0; i < group->cores.size(); ++i) {
      if (!Plays(playing, i)) continue;
      mmr_action room;
      (void)ReadAction(At(actions, i), group->agents[i]->counts, &room);
      group->cores[i]->action().ReadAction(room.choices, room.numbers);
    }
    return MMR_OK;
  });
}

mmr_status mmr_group_privileged(mmr_group* group, const mmr_observation* privileged,
                                const uint8_t* playing, uint64_t agents) {
  mmr_status status = Check(group);
  if (status != MMR_OK) return status;
  return Guard([&]() -> mmr_status {
    if (privileged == nullptr) return Fail("the privileged observations are NULL");
    if ((status = CheckCount(*group, agents, "privileged observations")) != MMR_OK) return status;
    for (const bool shows : {false, true}) {  // all are checked before one of them is shown
      for (std::size_t i = 0; i < group->cores.size(); ++i) {
        Observation converted;
        if (!Plays(playing, i)) continue;
        status = ToPrivileged(*group->cores[i], At(privileged, i), &converted);
        if (status != MMR_OK) return status;
        if (shows) (void)group->cores[i]->observation().TryObservePrivileged(converted);
      }
    }
    return MMR_OK;
  });
}

mmr_status mmr_group_reward(mmr_group* group, const double* rewards, const uint8_t* playing,
                            uint64_t agents) {
  mmr_status status = Check(group);
  if (status != MMR_OK) return status;
  return Guard([&]() -> mmr_status {
    if (rewards == nullptr) return Fail("the rewards are NULL");
    if ((status = CheckCount(*group, agents, "rewards")) != MMR_OK) return status;
    for (std::size_t i = 0; i < group->cores.size(); ++i)
      if (Plays(playing, i)) group->cores[i]->Reward(rewards[i]);
    return MMR_OK;
  });
}
