// EpisodeMeans: what the last episodes of a model's training came to. The means are over a window
// of the last hundred, the share of successes over the last hundred that say whether they
// succeeded.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "murmurate/status.h"
#include "server/metrics/reading.h"
#include "server/operate/evaluation.h"
#include "shared/model/state.h"

namespace murmurate {

class EpisodeMeans {
 public:
  /// Adds the episodes of training; those of other modes are left out.
  void Add(std::span<const EpisodeRecord> episodes);

  std::uint64_t episodes() const { return episodes_; }  ///< ever
  std::optional<double> mean_return() const;
  std::optional<double> mean_length() const;
  /// Empty when no episode said whether it succeeded.
  std::optional<double> success_rate() const { return SuccessRate(said_); }
  /// True when the means are over kEpisodeWindow episodes: only then may they end a run.
  bool full() const { return window_.size() == kEpisodeWindow; }
  void PutInto(Reading* reading) const;

  /// The windows; the number of episodes is the caller's to keep.
  void Save(const StateWriter& writer) const;
  Status Load(const StateReader& reader, std::uint64_t episodes);

 private:
  std::uint64_t episodes_ = 0;
  EpisodeList window_, said_;
};

}  // namespace murmurate
