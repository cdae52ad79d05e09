// Sequences as a replay gives them: small models that recur, and batches of their samples.
#pragma once

#include <vector>

#include "server/learn/replay_planner.h"
#include "server/replay/sample_form.h"
#include "server/replay/window_copy.h"
#include "tests/learn/example_batches.h"

namespace murmurate {

inline AlgorithmSettings SequenceSettings() {
  AlgorithmSettings settings;
  settings.kind = AlgorithmNamed("r2d2");
  settings.gamma = 0.9;
  settings.trajectory_length = 4;
  settings.batch_steps = 16;
  settings.replay.minibatch = 2;
  settings.replay.sequence = 8;
  settings.replay.most_updates = 2;
  settings.burn_in = 1;
  settings.n_step = 3;
  settings.target_every = 2;
  return settings;
}

inline ModelSpec SequenceSpec(const char* cell = "gru 6") {
  PolicyAndValue model = ExampleSpec();
  model.trunk = {{5, Activation::kTanh}, *Layer::Parse(cell)};
  model.separate_value = false;
  return *AlgorithmNamed("r2d2")->networks(model.ToSpec(), {});
}

/// Sequences of 8 steps that begin within an episode, each with a termination after the third and a
/// truncation after the sixth, and two stored states.
struct SequenceBatch {
  SequenceBatch(const ModelSpec& spec, const AlgorithmSettings& settings, int count)
      : batch(WindowCopy::BatchLayout(SampleForm(settings.replay),
                                      TrajectoryLayout(spec, settings.trajectory_length)),
              count) {
    Random random(9);
    for (int i = 0; i < count; ++i) {
      const ExampleTrajectory whole(static_cast<std::uint32_t>(i), 1, 8);
      TrajectoryView view = whole.view();
      std::vector<float> states(static_cast<std::size_t>(batch.layout.state_floats));
      for (float& state : states) state = random.Uniform() - 0.5f;
      view.state0 = states;
      view.episodes = {};
      EXPECT_TRUE(batch.Add(view));
      batch.flags[8 * i] = 0;
      std::fill_n(batch.weight.begin() + 8 * i, 8, 1.0f - 0.6f * static_cast<float>(i));
    }
    batch.samples = TrainingBatch::Samples::kReplayed;
    batch.learned = true;
  }
  /// Lets the i-th sequence have fewer steps, the last of them no end of an episode.
  void Shorten(int i, int steps) {
    batch.trajectories[static_cast<std::size_t>(i)].steps = steps;
    std::fill(batch.weight.begin() + 8 * i + steps, batch.weight.begin() + 8 * (i + 1), 0.0f);
  }

  TrainingBatch batch;
};

}  // namespace murmurate
