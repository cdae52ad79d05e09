// ReplaySettings: what a replay keeps, what it gives to learn from, and how often.
#pragma once

#include <cstdint>
#include <string>

#include "murmurate/status.h"
#include "shared/trajectory/trajectory.h"

namespace murmurate {

/// kDevice: a device that trains on samples has a copy of the replay's observations, so that none
/// goes there again with each sample.
enum class RowMemory : std::uint8_t { kHost, kDevice };

struct ReplaySettings {
  /// Steps that are kept; the oldest trajectory goes first. Stable-Baselines3 keeps 1,000,000,
  /// which is sized for Atari and for minutes of filling; small games are learned from far fewer.
  std::uint64_t capacity = 100'000;
  /// n: the steps of a sample. One return of n steps begins at each; 3 in Rainbow (Hessel et al.
  /// 2018), 1 in DQN (Mnih et al. 2015). Not used of sequences.
  int window = 1;
  /// Steps of a sample of a recurrent model, those that only bring its state up to date included: a
  /// multiple of T, for a sequence begins where a trajectory does (R2D2, Kapturowski et al. 2019:
  /// 40 and 80, and T = 40). 0: samples are windows.
  int sequence = 0;
  /// Samples of one update (Stable-Baselines3's DQN: 32, its SAC: 256).
  int minibatch = 128;
  /// Steps that are learned from for each that is inserted, a window counted as one and a sequence
  /// as all of its steps. DQN has 8 (32 every 4 steps), the RL Zoo's CartPole 32, SAC 256.
  double samples_per_insert = 32;
  /// Nothing is learned from before so many steps are there, and they allow no samples
  /// (rate_limiter.h). Stable-Baselines3: 100; its Atari: 100,000.
  std::uint64_t learning_starts = 1000;
  /// Updates whose samples are drawn at once: after those, new priorities count. 1 is what the
  /// papers do; more cost less a batch.
  int most_updates = 8;
  /// alpha of P = (|TD| + floor)^alpha, the chance to be sampled (Schaul et al. 2016: 0.6). 0: all
  /// steps have the same, and there are no priorities.
  double priority_exponent = 0;
  /// beta of the weights (N P)^-beta, divided by the largest of their minibatch (Schaul et al.
  /// 2016: 0.4, rising to 1; Ape-X, Horgan et al. 2018: 0.4 throughout).
  double importance_exponent = 0.4;
  /// Added to |TD|, in units of reward: a step without error is sampled, too (OpenAI Baselines).
  double priority_floor = 1e-6;
  /// Where the rows are that samples are made of.
  RowMemory memory = RowMemory::kHost;
  /// It is kept on disk beside the checkpoints of a run that writes some.
  bool persist = true;
  /// Recorded play that the replay begins with (server/data/open_play.h); "": none.
  std::string demonstrations = {};
  /// The part of each minibatch that is drawn from that recorded play alone, which then is kept
  /// apart and never evicted (RLPD, Ball et al. 2023, arXiv 2302.02948: 0.5). 0: it lies in the
  /// replay, and is evicted as the oldest of what lies there.
  double demonstration_share = 0;

  bool prioritized() const { return priority_exponent > 0; }
  int steps_of_sample() const { return sequence > 0 ? sequence : window; }
  /// Samples of each minibatch that are demonstrations: the share, rounded.
  int demonstrated() const { return static_cast<int>(demonstration_share * minibatch + 0.5); }
};

/// Whether a replay of trajectories of `layout` can be made: the sentence names what is wrong.
Status CheckReplaySettings(const ReplaySettings& settings, const TrajectoryLayout& layout);

}  // namespace murmurate
