#include "tests/device/random_batch.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "shared/core/check.h"
#include "shared/core/random.h"
#include "tests/experience/own_trajectory.h"

namespace murmurate {
namespace {

using Element = ObservationInput::Element;

class Play : public OwnTrajectory {
 public:
  Play(const TrajectoryLayout& layout, std::uint64_t seed) : layout_(layout), random_(seed) {}

  /// `steps` of one agent.
  void Make(int steps, bool masks) {
    MakeFlags(steps);
    Rows(steps, &observation);
    Rows(1, &next_observation);
    Rows(layout_.frames, &frames0);
    if ((flags[0] & kFirst) != 0) std::ranges::fill(frames0, std::byte{0});
    for (int step = 0; step < steps; ++step) {
      reward.push_back(Number());
      log_prob.push_back(std::log(0.2f + 0.5f * random_.Uniform()));
      if ((flags[step] & kTruncatedFlag) != 0) Rows(1, &final_observation);
      if (masks) Mask();
      for (const ActionPart& part : layout_.action.parts()) Act(part);
    }
    for (int i = 0; i < layout_.state_floats; ++i) state0.push_back(0.5f * Number());
  }

 private:
  float Number() { return 2.0f * random_.Uniform() - 1.0f; }
  bool Chance(float share) { return random_.Uniform() < share; }

  void MakeFlags(int steps) {
    bool begins = Chance(0.5f);
    int finals = 0;
    for (int step = 0; step < steps; ++step) {
      flags.push_back(begins ? kFirst : 0);
      begins = Chance(0.2f);
      if (!begins) continue;
      const bool cut = Chance(0.5f) && finals < layout_.max_finals;
      finals += cut;
      flags.back() |= cut ? kTruncatedFlag : kTerminatedFlag;
    }
  }

  void Rows(int count, std::vector<std::byte>* to) {
    for (int i = 0; i < count; ++i) {
      const std::size_t at = to->size();
      to->resize(at + layout_.row_bytes());
      for (const ObservationInput& input : layout_.observation.inputs())
        Fill(input, to->data() + at + input.offset_bytes);
    }
  }

  void Fill(const ObservationInput& input, std::byte* to) {
    for (int i = 0; i < input.elements; ++i) {
      if (input.element == Element::kUint8) {
        to[i] = static_cast<std::byte>(random_.UniformInt(256));
      } else if (input.element == Element::kInt32) {
        const auto category = static_cast<std::int32_t>(
            random_.UniformInt(static_cast<std::uint32_t>(input.categories[i])));
        std::memcpy(to + 4 * i, &category, 4);
      } else {
        const float number = Number();
        std::memcpy(to + 4 * i, &number, 4);
      }
    }
  }

  void Mask() {
    for (const ActionPart& part : layout_.action.parts())
      for (const int choices : part.choices)
        for (int i = 0; i < choices; ++i) mask.push_back(i == 0 || Chance(0.7f) ? 1 : 0);
  }

  /// Choices are the first, which no mask forbids, or any where there is no mask.
  void Act(const ActionPart& part) {
    for (int i = 0; i < part.count; ++i) {
      if (part.kind == ActionPart::Kind::kContinuous) {
        action.push_back(std::bit_cast<std::int32_t>(Number()));
      } else if (part.kind == ActionPart::Kind::kBinary) {
        action.push_back(Chance(0.5f));
      } else {
        const auto choices = static_cast<std::uint32_t>(part.choices[i]);
        action.push_back(mask.empty() ? static_cast<std::int32_t>(random_.UniformInt(choices)) : 0);
      }
    }
  }

  const TrajectoryLayout& layout_;
  Random random_;
};

}  // namespace

TrainingBatch RandomBatch(const ModelSpec& spec, const AlgorithmSettings& settings,
                          std::uint64_t seed, bool masks) {
  const int length = settings.trajectory_length;
  TrainingBatch batch(TrajectoryLayout(spec, length), settings.batch_steps / length);
  for (int slot = 0; slot < batch.capacity; ++slot) {
    Play play(batch.layout, DeriveSeed(seed, static_cast<std::uint64_t>(slot)));
    const int steps = slot % 3 == 2 && length > 1 ? length - length / 4 : length;
    play.Make(std::max(steps, settings.burn_in + 1), masks && batch.layout.action.mask_bytes() > 0);
    play.agent = static_cast<std::uint32_t>(slot);
    MURMURATE_CHECK(batch.Add(play.View()), "a trajectory that a batch takes");
  }
  return batch;
}

}  // namespace murmurate
