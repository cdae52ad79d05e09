// ExperienceSource: where a model's batches come from, as the daemon starts, saves and stops it. A
// model has one: its actors by way of ingest (ActorSource), files (Feeding), or a stream
// (StreamSource).
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "murmurate/status.h"
#include "server/metrics/reading.h"
#include "shared/model/state.h"
#include "shared/weights/weights.h"

namespace murmurate {

class ExperienceSource {
 public:
  virtual ~ExperienceSource() = default;

  /// Actors send it. Otherwise its steps count when they are trained on.
  virtual bool from_actors() const { return false; }
  /// The model chooses the actions of a game, so that it can be evaluated by playing.
  virtual bool of_a_game() const { return true; }

  /// Starts its threads. `number`: of its model among the run's.
  virtual void Start(int /*number*/) {}
  /// Joins its threads: no batch is handed over after it.
  virtual void Stop() {}

  // The learning thread, between two batches.
  virtual void OnSnapshot(const std::shared_ptr<const Snapshot>& /*newest*/) {}
  virtual void OnTrained() {}
  /// Something that a checkpoint keeps has come since the last Save, though nothing was learned.
  virtual bool unsaved() const { return false; }
  /// How long the learning thread may wait for a batch before it checks unsaved() again.
  virtual std::chrono::milliseconds longest_wait() const { return std::chrono::seconds(10); }
  /// `batches`: so many of those that it handed over are trained on.
  virtual void Save(std::uint64_t batches, SavedState* state) const = 0;

  /// Notes that a checkpoint with what Save wrote is on disk; any thread.
  virtual void Commit(const SavedState& /*state*/) {}
  /// Its own numbers, if it has any beside those of every model; any thread.
  virtual std::optional<Reading> Metrics() const { return std::nullopt; }
};

}  // namespace murmurate
