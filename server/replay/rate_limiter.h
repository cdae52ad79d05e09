// RateLimiter: how many updates may be made of what was inserted, as Reverb's SampleToInsertRatio
// with the offset that Acme gives it (Cassirer et al. 2021, Hoffman et al. 2020):
//
//   due = (inserts - learning_starts) x samples_per_insert - samples
//
// and never below 0: the inserts before `learning_starts` allow no samples. Inserts and samples are
// counted in steps, and `due` follows from the two counts, so it does not drift. A learner that is
// ahead waits for experience; that players are not ahead is up to who inserts: LearnLoop inserts a
// batch when less than one update is due.
#pragma once

#include <cstdint>
#include <string>

#include "server/replay/replay_settings.h"
#include "shared/model/state.h"

namespace murmurate {

class RateLimiter {
 public:
  explicit RateLimiter(const ReplaySettings& settings);

  void Inserted(std::uint64_t steps);
  /// How many updates may be made at once now: at most most_updates, and none more than is due.
  int UpdatesDue() const;
  void Given(int updates) { samples_ += Samples(updates); }
  /// They were not made.
  void GivenBack(int updates) { samples_ -= Samples(updates); }

  /// Steps that may still be sampled.
  double due() const { return allowed() - static_cast<double>(samples_); }
  /// Why no update is due, as one sentence: "collects 640 of 1,000 steps before it learns"; "": one
  /// is.
  std::string Waiting() const;

  /// A run that goes on with an empty replay (not `filled`) collects anew before it learns, and
  /// then makes as many updates as if it had never been stopped.
  void Save(const StateWriter& writer) const;
  Status Load(const StateReader& reader, bool filled);

 private:
  double allowed() const { return static_cast<double>(inserts_) * samples_per_insert_; }
  std::uint64_t Samples(int updates) const {
    return static_cast<std::uint64_t>(updates) * samples_of_update_;
  }

  const double samples_per_insert_;
  const std::uint64_t learning_starts_, samples_of_update_;
  const int most_updates_;
  std::uint64_t collected_ = 0;  ///< inserts that allow no samples, up to learning_starts
  std::uint64_t inserts_ = 0, samples_ = 0;
};

}  // namespace murmurate
