// Agents: made, played by the step, and what is said between two steps.
#include <optional>

#include "client/c_abi/convert.h"
#include "client/c_abi/handles.h"
#include "client/internals.h"

namespace murmurate::c_abi {
namespace {

mmr_status Step(AgentCore& core, std::span<const float> observation,
                std::span<const std::uint8_t> allowed) {
  core.observation().Observe(observation);
  core.observation().SetMask(allowed);
  return core.Step() ? MMR_OK : Fail(MMR_UNAVAILABLE, kStillWaits);
}

/// A step in any spaces: the agent's choice into `action`, or (`record`) a person's, from there.
mmr_status StepAny(mmr_agent* agent, const mmr_observation* observation, const mmr_action* action,
                   bool record) {
  mmr_status status = Check(agent);
  if (status != MMR_OK) return status;
  return Guard([&]() -> mmr_status {
    AgentCore& core = *agent->core;
    Observation converted;
    mmr_action room;
    if ((status = Convert(observation, &converted)) != MMR_OK) return status;
    const std::span<const std::uint8_t> allowed = converted.mask();
    if ((status = CheckMask(core, allowed.data(), allowed.size())) != MMR_OK) return status;
    if ((status = ReadAction(action, agent->counts, &room)) != MMR_OK) return status;
    if (record) {
      const Status fits = core.action().CheckRecord(room.choices, room.numbers,
                                                    allowed.empty() ? nullptr : allowed.data());
      if (!fits.ok()) return Fail(fits);
    }
    if ((status = Observe(core, converted)) != MMR_OK) return status;
    core.observation().SetMask(allowed);
    if (!core.Step()) return Fail(MMR_UNAVAILABLE, kStillWaits);
    if (!record) return core.action().ReadAction(room.choices, room.numbers), MMR_OK;
    const Status took = core.TryTook(room.choices, room.numbers);
    return took.ok() ? MMR_OK : Fail(took);
  });
}

mmr_status Took(mmr_agent* agent, std::int32_t choice, std::optional<float> log_prob,
                const char* not_one_choice) {
  if (const mmr_status status = Check(agent); status != MMR_OK) return status;
  return Guard([&]() -> mmr_status {
    if (!agent->core->model()->head.layout().one_choice()) return Fail(not_one_choice);
    const Status took = agent->core->TryTook(&choice, nullptr, log_prob);
    return took.ok() ? MMR_OK : Fail(took);
  });
}

mmr_status Took(mmr_agent* agent, const mmr_action* action, std::optional<float> log_prob) {
  mmr_status status = Check(agent);
  if (status != MMR_OK) return status;
  return Guard([&]() -> mmr_status {
    mmr_action read;
    if ((status = ReadAction(action, agent->counts, &read)) != MMR_OK) return status;
    const Status took = agent->core->TryTook(read.choices, read.numbers, log_prob);
    return took.ok() ? MMR_OK : Fail(took);
  });
}

mmr_status CheckEnd(std::int32_t how, std::int32_t success) {
  if (how != MMR_TERMINATED && how != MMR_TRUNCATED) {
    return Fail("an episode ends MMR_TERMINATED or MMR_TRUNCATED, not " + std::to_string(how));
  }
  if (success < MMR_NOT_SAID || success > MMR_SUCCESS) {
    return Fail("an end is MMR_NOT_SAID, MMR_FAILURE or MMR_SUCCESS, not " +
                std::to_string(success));
  }
  return MMR_OK;
}

constexpr const char* kNoFinal =
    "MMR_TRUNCATED needs the final observation: what the agent would have seen next";

}  // namespace
}  // namespace murmurate::c_abi

using namespace murmurate;
using namespace murmurate::c_abi;

mmr_agent* mmr_agent_new(mmr_client* client, const mmr_agent_options* options) {
  return GuardMaking([&]() -> mmr_agent* {
    AgentOptions read;
    if (Check(client) != MMR_OK || ReadAgentOptions(options, &read) != MMR_OK) return nullptr;
    std::lock_guard lock(client->making);
    Agent agent = client->client->NewAgent(read);
    if (!agent.valid()) {
      Fail(client->client->last_error());
      return nullptr;
    }
    auto made = std::make_unique<mmr_agent>(&Internals::Of(agent), false);
    made->agent = std::move(agent);
    return made.release();
  });
}

mmr_status mmr_agent_close(mmr_agent* agent) {
  if (agent != nullptr && Check(agent) == MMR_OK && agent->grouped) {
    return Fail(MMR_BAD_HANDLE, "this agent is its group's: close the group");
  }
  return Close(agent, HandleKind::kAgent);
}

int32_t mmr_act(mmr_agent* agent, const float* observation, uint64_t numbers) {
  return mmr_act_masked(agent, observation, numbers, nullptr, 0);
}

int32_t mmr_act_masked(mmr_agent* agent, const float* observation, uint64_t numbers,
                       const uint8_t* allowed, uint64_t choices) {
  mmr_status status = Check(agent);
  if (status != MMR_OK) return status;
  return Guard([&]() -> std::int32_t {
    AgentCore& core = *agent->core;
    if (!core.model()->head.layout().one_choice()) return Fail(kNotOneChoice);
    if ((status = CheckObservation(core, observation, numbers)) != MMR_OK) return status;
    if ((status = CheckMask(core, allowed, choices)) != MMR_OK) return status;
    status = Step(core, {observation, numbers}, {allowed, choices});
    return status != MMR_OK ? status : core.action().choice();
  });
}

mmr_status mmr_act_continuous(mmr_agent* agent, const float* observation, uint64_t numbers,
                              float* action, uint64_t action_numbers) {
  mmr_status status = Check(agent);
  if (status != MMR_OK) return status;
  return Guard([&]() -> mmr_status {
    AgentCore& core = *agent->core;
    if ((status = CheckObservation(core, observation, numbers)) != MMR_OK) return status;
    if (core.model()->spaces.action.kind != Space::Kind::kBox ||
        action_numbers != agent->counts.numbers || action == nullptr) {
      return Fail("mmr_act_continuous gives a Box of numbers: this action has " +
                  std::to_string(agent->counts.numbers) + " numbers and " +
                  std::to_string(agent->counts.choices) + " choices, and there is room for " +
                  std::to_string(action == nullptr ? 0 : action_numbers));
    }
    if ((status = Step(core, {observation, numbers}, {})) != MMR_OK) return status;
    core.action().ReadAction(std::span(action, action_numbers));
    return MMR_OK;
  });
}

mmr_status mmr_act_any(mmr_agent* agent, const mmr_observation* observation,
                       const mmr_action* action) {
  return StepAny(agent, observation, action, false);
}

mmr_status mmr_reward(mmr_agent* agent, double reward) {
  if (const mmr_status status = Check(agent); status != MMR_OK) return status;
  return Guard([&]() -> mmr_status {
    agent->core->Reward(reward);
    return MMR_OK;
  });
}

mmr_status mmr_privileged(mmr_agent* agent, const float* numbers, uint64_t count) {
  if (const mmr_status status = Check(agent); status != MMR_OK) return status;
  return Guard([&]() -> mmr_status {
    if (numbers == nullptr) return Fail("the privileged numbers are NULL");
    AgentObservation& observation = agent->core->observation();
    const Observation shown(std::span(numbers, count));
    if (observation.TryObservePrivileged(shown)) return MMR_OK;
    return Fail(observation.CheckPrivileged(shown));
  });
}

mmr_status mmr_privileged_any(mmr_agent* agent, const mmr_observation* privileged) {
  if (const mmr_status status = Check(agent); status != MMR_OK) return status;
  return Guard([&]() -> mmr_status {
    Observation converted;
    const mmr_status status = ToPrivileged(*agent->core, privileged, &converted);
    if (status == MMR_OK) (void)agent->core->observation().TryObservePrivileged(converted);
    return status;
  });
}

mmr_status mmr_end(mmr_agent* agent, int32_t how, const float* final_observation,
                   uint64_t numbers) {
  mmr_status status = Check(agent);
  if (status != MMR_OK) return status;
  return Guard([&]() -> mmr_status {
    AgentCore& core = *agent->core;
    if ((status = CheckEnd(how, MMR_NOT_SAID)) != MMR_OK) return status;
    if (how == MMR_TRUNCATED) {
      if (final_observation == nullptr) return Fail(kNoFinal);
      if ((status = CheckObservation(core, final_observation, numbers)) != MMR_OK) return status;
      core.observation().Observe(std::span(final_observation, numbers));
    }
    core.End(static_cast<EndKind>(how));
    return MMR_OK;
  });
}

mmr_status mmr_end_any(mmr_agent* agent, int32_t how, int32_t success,
                       const mmr_observation* final_observation) {
  mmr_status status = Check(agent);
  if (status != MMR_OK) return status;
  return Guard([&]() -> mmr_status {
    AgentCore& core = *agent->core;
    if ((status = CheckEnd(how, success)) != MMR_OK) return status;
    if (how == MMR_TRUNCATED) {
      if (final_observation == nullptr) return Fail(kNoFinal);
      Observation converted;
      if ((status = Convert(final_observation, &converted)) != MMR_OK) return status;
      if ((status = Observe(core, converted)) != MMR_OK) return status;
    }
    core.End(static_cast<EndKind>(how), static_cast<Success>(success));
    return MMR_OK;
  });
}

mmr_status mmr_took(mmr_agent* agent, int32_t choice) {
  return Took(agent, choice, {}, "mmr_took: this action is not one choice: use mmr_took_any");
}

mmr_status mmr_took_any(mmr_agent* agent, const mmr_action* action) {
  return Took(agent, action, {});
}

mmr_status mmr_took_log_prob(mmr_agent* agent, int32_t choice, float log_prob) {
  return Took(agent, choice, log_prob,
              "mmr_took_log_prob: this action is not one choice: use mmr_took_any_log_prob");
}

mmr_status mmr_took_any_log_prob(mmr_agent* agent, const mmr_action* action, float log_prob) {
  return Took(agent, action, log_prob);
}

mmr_status mmr_record(mmr_agent* agent, const float* observation, uint64_t numbers,
                      int32_t choice) {
  mmr_status status = Check(agent);
  if (status != MMR_OK) return status;
  return Guard([&]() -> mmr_status {
    AgentCore& core = *agent->core;
    if (!core.model()->head.layout().one_choice()) {
      return Fail("mmr_record: this action is not one choice: use mmr_record_any");
    }
    if ((status = CheckObservation(core, observation, numbers)) != MMR_OK) return status;
    const Status fits = core.action().CheckRecord(&choice, nullptr, nullptr);
    if (!fits.ok()) return Fail(fits);
    if ((status = Step(core, {observation, numbers}, {})) != MMR_OK) return status;
    const Status took = core.TryTook(&choice, nullptr);
    return took.ok() ? MMR_OK : Fail(took);
  });
}

mmr_status mmr_record_any(mmr_agent* agent, const mmr_observation* observation,
                          const mmr_action* action) {
  return StepAny(agent, observation, action, true);
}

mmr_status mmr_discard(mmr_agent* agent) {
  if (const mmr_status status = Check(agent); status != MMR_OK) return status;
  return Guard([&]() -> mmr_status {
    agent->core->Discard();
    return MMR_OK;
  });
}

mmr_status mmr_report(mmr_agent* agent, const char* name, double value) {
  if (const mmr_status status = Check(agent); status != MMR_OK) return status;
  return Guard([&]() -> mmr_status {
    if (name == nullptr || *name == 0) return Fail("mmr_report: the number needs a name");
    if (agent->core->episode().Report(name, value)) return MMR_OK;
    return Fail("mmr_report: \"" + std::string(name) + "\" is not counted: the number must be " +
                "finite, and an agent has at most " + std::to_string(kMaxReports) + " names");
  });
}

mmr_status mmr_set_mode(mmr_agent* agent, int32_t mode) {
  if (const mmr_status status = Check(agent); status != MMR_OK) return status;
  if (mode < MMR_TRAIN || mode > MMR_SILENT) {
    return Guard([&]() -> mmr_status {
      return Fail("a mode is MMR_TRAIN, MMR_EVALUATE or MMR_SILENT, not " + std::to_string(mode));
    });
  }
  agent->core->episode().SetMode(static_cast<PlayMode>(mode));
  return MMR_OK;
}

mmr_status mmr_get_shape(mmr_agent* agent, mmr_shape* shape) {
  if (const mmr_status status = Check(agent); status != MMR_OK) return status;
  return Guard([&]() -> mmr_status {
    if (shape == nullptr) return Fail("the mmr_shape is NULL");
    const ClientModel& model = *agent->core->model();
    mmr_shape out{};
    out.inputs = static_cast<std::uint32_t>(model.observation.inputs().size());
    if (model.observation.plain()) out.observation_numbers = model.observation.row_bytes() / 4;
    out.choices = agent->counts.choices;
    out.numbers = agent->counts.numbers;
    out.mask_bytes = static_cast<std::uint64_t>(model.head.layout().mask_bytes());
    return Write(out, "mmr_shape", shape);
  });
}

mmr_status mmr_find_part(mmr_agent* agent, const char* name, mmr_part* part) {
  if (const mmr_status status = Check(agent); status != MMR_OK) return status;
  return Guard([&]() -> mmr_status {
    if (part == nullptr) return Fail("the mmr_part is NULL");
    const std::string_view wanted = name == nullptr ? "" : name;
    const Action action(agent->core->model()->spaces.action);
    for (const Action::Part& known : action.parts()) {
      if (known.name != wanted) continue;
      mmr_part out{};
      out.continuous = known.continuous;
      out.first = known.first;
      out.count = known.count;
      return Write(out, "mmr_part", part);
    }
    return Fail("the action's space has no part \"" + std::string(wanted) + "\"");
  });
}
