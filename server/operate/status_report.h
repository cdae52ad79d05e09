// StatusReport: what a live learner answers to "status": one JSON object, and the same as text.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "murmurate/status.h"
#include "server/metrics/actor_report.h"
#include "server/metrics/reading.h"
#include "server/operate/learning_pause.h"
#include "shared/wire/messages.h"

namespace murmurate {

/// ActorsView is what the ingest thread knows of the actors, as the daemon hands it over.
struct ActorsView {
  std::vector<ActorReport> actors;
  std::vector<ActorReport> forgotten = {};  ///< counts of actors long gone, one a name
  std::vector<RefusedActor> refused = {};
  std::array<std::uint64_t, wire::kRefusalCount> refusals{};
  std::uint64_t duplicates = 0, messages = 0, bytes = 0;
  std::vector<std::string> waiting;        ///< who waits for whom and why
  std::vector<std::string> troubles = {};  ///< what does not go as it should, beside checkpoints
  std::uint64_t lost_trajectories = 0;     ///< when the learner died before

  /// Actors and those forgotten: what metrics sum up, so that their sums do not fall.
  std::vector<ActorReport> counted() const {
    std::vector<ActorReport> all = actors;
    all.insert(all.end(), forgotten.begin(), forgotten.end());
    return all;
  }
};

struct StatusReport {
  std::string run, directory;
  int pid = 0;
  double uptime_s = 0;
  std::vector<std::string> listen;
  std::vector<Reading> models;
  std::vector<std::pair<std::string, double>> settings;  ///< of the games
  ActorsView actors;
  std::vector<Reading> streams = {};
  std::vector<Reading> hooks = {};
  std::optional<PauseReport> paused = {};

  std::size_t left_out_actors = 0;  ///< beside those in `actors`

  /// `indent`: spaces a level; -1: all in one line.
  std::string ToJson(int indent = 2) const;
};

/// The text of `murmurate status`, from the JSON of a learner or a shard (perhaps of another
/// version: what is missing is left out).
Result<std::string> StatusText(const std::string& json);
/// The string at `key` of the JSON of a learner, "" when it is not there.
std::string StatusField(const std::string& json, const std::string& key);

}  // namespace murmurate
