// StatusReport: what a live learner answers to "status": one JSON object, and the same as text.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "murmurate/status.h"
#include "server/operate/checkpoint_writer.h"
#include "server/operate/evaluation.h"
#include "shared/wire/server_session.h"

namespace murmurate {

/// What the ingest thread knows of the actors, as the daemon hands it over.
struct ActorsView {
  std::vector<wire::ServerSession::ActorReport> actors;
  std::array<std::uint64_t, wire::kRefusalCount> refusals{};
  std::uint64_t duplicates = 0, messages = 0, bytes = 0;
  std::vector<std::string> waiting;     ///< who waits for whom and why
  std::uint64_t lost_trajectories = 0;  ///< with an earlier life of this learner
};

struct ModelStatus {
  std::string name;
  std::uint64_t steps = 0, trained_steps = 0, updates = 0, version = 0, episodes = 0,
                dropped_steps = 0;
  std::optional<double> mean_return = {}, success_rate = {};
  std::optional<Evaluation> evaluation = {};
  std::vector<std::pair<std::string, double>> reports = {};  ///< numbers of the game
  double steps_per_second = 0, staleness = 0;
  CheckpointHealth checkpoints = {};
  double learner_wait = 0, ingest_wait = 0;  ///< of 1, as in TrainingUpdate
  std::optional<double> actor_wait = {};
};

struct StatusReport {
  std::string run, directory;
  int pid = 0;
  double uptime_s = 0;
  std::vector<std::string> listen;
  std::vector<ModelStatus> models;
  std::vector<std::pair<std::string, double>> settings;  ///< of the games
  ActorsView actors;

  std::string ToJson() const;
};

/// The text of `murmurate status`, from the JSON of a learner (perhaps of another version: what is
/// missing is left out).
Result<std::string> StatusText(const std::string& json);
/// The string at `key` of the JSON of a learner, "" when it is not there.
std::string StatusField(const std::string& json, const std::string& key);

}  // namespace murmurate
