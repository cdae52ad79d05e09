// StatusReport: what a live learner answers to "status": one JSON object, and the same as text.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "murmurate/status.h"
#include "server/operate/checkpoint_writer.h"
#include "server/operate/evaluation.h"
#include "server/session/server_session.h"

namespace murmurate {

/// What the ingest thread knows of the actors, as the daemon hands it over.
struct ActorsView {
  std::vector<wire::ServerSession::ActorReport> actors;
  std::vector<wire::ServerSession::RefusedActor> refused = {};
  std::array<std::uint64_t, wire::kRefusalCount> refusals{};
  std::uint64_t duplicates = 0, messages = 0, bytes = 0;
  std::vector<std::string> waiting;     ///< who waits for whom and why
  std::uint64_t lost_trajectories = 0;  ///< with an earlier life of this learner
};

struct ModelStatus {
  std::string name;
  std::uint64_t steps = 0, learned_steps = 0, trained_steps = 0, updates = 0, version = 0,
                episodes = 0, dropped_steps = 0, late_steps = 0;
  std::optional<double> mean_return = {}, success_rate = {};
  std::optional<Evaluation> evaluation = {};
  std::vector<std::pair<std::string, double>> reports = {};  ///< numbers of the game
  double steps_per_second = 0, staleness = 0;
  CheckpointHealth checkpoints = {};
  double learner_wait = 0, ingest_wait = 0;  ///< of 1, as in TrainingUpdate
  std::optional<double> actor_wait = {};
};

/// What was not usable of a field's values.
struct FieldView {
  std::string name;
  std::uint64_t missing = 0, out_of_range = 0, wrong_type = 0;
};

/// One stream of messages: its broker and what came of it.
struct StreamView {
  std::string name;
  std::string broker;          ///< "": it has none
  std::string listen = {};     ///< where it takes samples itself; "": nowhere
  std::uint64_t clients = 0;   ///< that send samples there
  std::uint64_t answered = 0;  ///< samples of theirs, in this life
  bool up = false;
  double down_s = 0;                         ///< while it is not
  std::uint64_t published = 0;               ///< messages, in this life
  std::uint64_t received = 0;                ///< messages, labels among them: refused and taken
  std::uint64_t losses = 0;                  ///< of the connection
  std::uint64_t messages = 0, devices = 0;   ///< taken; that are followed
  std::uint64_t learned = 0, unlearned = 0;  ///< pairs; those that there was no time to learn
  std::uint64_t gaps = 0;                    ///< numbered messages that have not come
  std::uint64_t late = 0;                    ///< of `messages`: came after later ones
  std::uint64_t rows = 0, forecasts = 0;
  /// Messages (cells, on a grid) that made no row: a field has had no value yet; values missing.
  std::uint64_t incomplete = 0, skipped = 0;
  /// On a grid: messages in a cell that had one; cells without one; cells that are still open.
  std::uint64_t joined = 0, empty = 0, waiting = 0;
  std::string stuck = {};  ///< a device that never makes a row; "": none
  double messages_per_s = 0;
  std::optional<double> error = {}, baseline_error = {};  ///< recently, in its usual error
  std::vector<std::pair<std::string, std::uint64_t>> refused = {};  ///< by reason
  std::vector<FieldView> fields = {};                               ///< those with anything in them
  /// Of 1: what the model's error is less than the naive forecast's.
  std::optional<double> skill() const {
    if (!error || !baseline_error || *baseline_error <= 0) return std::nullopt;
    return 1 - *error / *baseline_error;
  }
};

struct StatusReport {
  std::string run, directory;
  int pid = 0;
  double uptime_s = 0;
  std::vector<std::string> listen;
  std::vector<ModelStatus> models;
  std::vector<std::pair<std::string, double>> settings;  ///< of the games
  ActorsView actors;
  std::vector<StreamView> streams = {};

  std::string ToJson() const;
};

/// The text of `murmurate status`, from the JSON of a learner or a shard (perhaps of another
/// version: what is missing is left out).
Result<std::string> StatusText(const std::string& json);
/// The string at `key` of the JSON of a learner, "" when it is not there.
std::string StatusField(const std::string& json, const std::string& key);

}  // namespace murmurate
