// ActorSource: a model's actors, whose experience ingest receives.
#pragma once

#include <string>
#include <utility>

#include "server/daemon/experience_source.h"
#include "server/ingest/ingest.h"

namespace murmurate {

class ActorSource : public ExperienceSource {
 public:
  /// `ingest` must stay.
  ActorSource(Ingest* ingest, std::string model) : ingest_(ingest), model_(std::move(model)) {}

  bool from_actors() const override { return true; }
  void Save(std::uint64_t batches, SavedState* state) const override {
    ingest_->Save(model_, batches, StateWriter(state, "session"));
  }
  void Commit(const SavedState& state) override {
    ingest_->Commit(model_, StateReader(state, "session"));
  }

 private:
  Ingest* const ingest_;
  const std::string model_;
};

}  // namespace murmurate
