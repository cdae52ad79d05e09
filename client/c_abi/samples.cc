// Samples with their labels, many a call.
#include <array>
#include <cstddef>
#include <string>

#include "client/c_abi/convert.h"
#include "client/c_abi/handles.h"
#include "client/internals.h"

namespace murmurate::c_abi {
namespace {

constexpr const char* kNoLearner = "the learner is not there now: call again";

/// mmr_observation and mmr_action whose buffers hold a row for each sample; moved from row to row.
struct Rows {
  mmr_observation observation;
  std::array<mmr_input, Observation::kMaxParts> inputs;
  mmr_action action;

  mmr_status Read(const mmr_observation* observations, const mmr_action* actions,
                  const ActionCounts& counts) {
    mmr_observation copy;
    const mmr_observation* known = Known(observations, "mmr_observation", &copy);
    if (known == nullptr) return mmr_last_status();
    if (known->inputs == nullptr || known->input_count < 1 || known->input_count > inputs.size()) {
      return Fail("mmr_observation.inputs is NULL, or input_count is not 1 to 32");
    }
    if (known->allowed != nullptr) return Fail("samples have no mask: leave allowed at NULL");
    for (std::uint64_t i = 0; i < known->input_count; ++i) {
      mmr_input input_copy;
      const mmr_input* input = Known(At(known->inputs, i), "mmr_input", &input_copy);
      if (input == nullptr) return mmr_last_status();
      inputs[i] = *input;
      inputs[i].size = sizeof(mmr_input);
    }
    observation = *known;
    observation.size = sizeof(mmr_observation);
    observation.inputs = inputs.data();
    return ReadAction(actions, counts, &action);
  }

  void Advance() {
    for (std::uint64_t i = 0; i < observation.input_count; ++i) {
      const std::size_t bytes = inputs[i].count * (inputs[i].element == MMR_UINT8 ? 1 : 4);
      inputs[i].values = static_cast<const std::byte*>(inputs[i].values) + bytes;
    }
    if (action.choices != nullptr) action.choices += action.choice_count;
    if (action.numbers != nullptr) action.numbers += action.number_count;
  }
};

mmr_status OfSample(std::uint64_t sample, const std::string& what) {
  return Fail("sample " + std::to_string(sample) + ": " + what);
}

/// Records the sample that `rows` stands at, number `i` of the call.
mmr_status RecordOne(AgentCore& core, const Rows& rows, std::uint64_t i) {
  Observation converted;
  if (const mmr_status status = Convert(&rows.observation, &converted); status != MMR_OK) {
    return status;
  }
  const mmr_action& label = rows.action;
  const Status fits = core.action().CheckRecord(label.choices, label.numbers, nullptr);
  if (!fits.ok()) return OfSample(i, fits.message());
  if (const mmr_status status = Observe(core, converted); status != MMR_OK) return status;
  if (!core.observation().good()) {
    return OfSample(i,
                    "holds a number that is not finite, or a category that does not exist; "
                    "leave it out, or correct it");
  }
  core.observation().SetMask({});
  bool recorded = false;
  if (!core.StepGiven(label.choices, label.numbers, &recorded)) {
    return Fail(MMR_UNAVAILABLE, kStillWaits);
  }
  return recorded ? MMR_OK : Fail(MMR_UNAVAILABLE, kNoLearner);
}

bool IsLive(const ClientModel& model) { return model.live.load(std::memory_order_acquire); }

/// Waits for the learner, as long as a call may.
bool AwaitLearner(ClientModel& model) {
  return IsLive(model) ||
         model.wait.Until([&] { return IsLive(model); }, model.wakeup->max_wait_ns);
}

}  // namespace
}  // namespace murmurate::c_abi

using namespace murmurate;
using namespace murmurate::c_abi;

mmr_status mmr_record_samples(mmr_agent* agent, const mmr_observation* observations,
                              const mmr_action* labels, uint64_t samples, uint64_t* recorded,
                              double* waited_s) {
  mmr_status status = Check(agent);
  if (status != MMR_OK) return status;
  return Guard([&]() -> mmr_status {
    if (recorded == nullptr || waited_s == nullptr) {
      return Fail("mmr_record_samples: recorded or waited_s is NULL");
    }
    *recorded = 0;
    *waited_s = 0.0;
    Rows rows;
    ClientModel& model = *agent->core->model();
    const std::int64_t before_ns = model.wait.waited_ns();
    status = rows.Read(observations, labels, agent->counts);
    for (; status == MMR_OK && *recorded < samples; rows.Advance()) {
      status = AwaitLearner(model) ? RecordOne(*agent->core, rows, *recorded)
                                   : Fail(MMR_UNAVAILABLE, kNoLearner);
      if (status == MMR_OK) ++*recorded;
    }
    *waited_s = static_cast<double>(model.wait.waited_ns() - before_ns) * 1e-9;
    return status;
  });
}
