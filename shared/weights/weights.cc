#include "shared/weights/weights.h"

#include <cstring>

#include "shared/core/check.h"
#include "shared/model/parameter_layout.h"
#include "shared/weights/preamble.h"

namespace murmurate {

std::size_t PayloadBytes(const ParameterLayout& layout) {
  return sizeof(Preamble) + (layout.published.count + layout.statistics.count) * sizeof(float);
}

Preamble MakePreamble(const ParameterLayout& layout, const ActSettings& act) {
  Preamble preamble;
  preamble.policy_count = layout.published.count;
  preamble.statistics_count = layout.statistics.count;
  preamble.mode = static_cast<std::uint32_t>(act.mode);
  preamble.epsilon = act.epsilon;
  preamble.sigma = act.sigma;
  preamble.temperature = act.temperature;
  preamble.noise = static_cast<std::uint32_t>(act.noise);
  preamble.ladder_count = act.ladder_count;
  preamble.ladder_alpha = act.ladder_alpha;
  return preamble;
}

void WritePayload(const ParameterLayout& layout, const Snapshot& snapshot,
                  std::span<std::byte> payload) {
  MURMURATE_CHECK(payload.size() == PayloadBytes(layout), "the payload has the layout's size");
  MURMURATE_CHECK(snapshot.parameters.size() == layout.total, "the snapshot has the layout's size");
  const Preamble preamble = MakePreamble(layout, snapshot.act);
  std::byte* at = payload.data();
  std::memcpy(at, &preamble, sizeof(preamble));
  at += sizeof(preamble);
  for (const SectionRange& range : {layout.published, layout.statistics}) {
    if (range.count == 0) continue;
    std::memcpy(at, snapshot.parameters.data() + range.offset, range.count * sizeof(float));
    at += range.count * sizeof(float);
  }
}

Result<ActSettings> ReadPreamble(const ParameterLayout& layout, const Preamble& preamble) {
  if (preamble.magic != Preamble().magic || preamble.policy_count != layout.published.count ||
      preamble.statistics_count != layout.statistics.count) {
    return InvalidData(
        "published weights begin with another preamble than the model's: learner and client are "
        "of different versions");
  }
  const bool act_fine = preamble.mode <= static_cast<std::uint32_t>(ActSettings::Mode::kUniform) &&
                        preamble.epsilon >= 0.0f && preamble.epsilon <= 1.0f &&
                        preamble.sigma >= 0.0f && preamble.temperature > 0.0f &&
                        preamble.noise <= static_cast<std::uint32_t>(ActSettings::Noise::kPink) &&
                        preamble.ladder_alpha >= 0.0f;
  if (!act_fine) {
    return InvalidData("published weights carry act settings out of range (mode " +
                       std::to_string(preamble.mode) + ", epsilon " +
                       std::to_string(preamble.epsilon) + ", temperature " +
                       std::to_string(preamble.temperature) + ", noise " +
                       std::to_string(preamble.noise) + ", alpha of the ladder " +
                       std::to_string(preamble.ladder_alpha) + "): the learner is at fault");
  }
  return ActSettings{static_cast<ActSettings::Mode>(preamble.mode),
                     preamble.epsilon,
                     preamble.sigma,
                     preamble.temperature,
                     static_cast<ActSettings::Noise>(preamble.noise),
                     preamble.ladder_count,
                     preamble.ladder_alpha};
}

}  // namespace murmurate
