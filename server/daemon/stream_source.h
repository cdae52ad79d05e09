// StreamSource: a stream's messages, each of which becomes something to learn from.
#pragma once

#include <memory>
#include <utility>

#include "server/daemon/experience_source.h"
#include "server/stream/streaming.h"

namespace murmurate {

class StreamSource : public ExperienceSource {
 public:
  explicit StreamSource(std::unique_ptr<Streaming> stream) : stream_(std::move(stream)) {}

  bool of_a_game() const override { return false; }
  void Start(int number) override { stream_->Start(number); }
  void Stop() override { stream_->Stop(); }
  void OnSnapshot(const std::shared_ptr<const Snapshot>& newest) override {
    stream_->ApplyWeights(newest);
  }
  void OnTrained() override { stream_->OnTrained(); }
  bool unsaved() const override { return stream_->unsaved(); }
  std::chrono::milliseconds longest_wait() const override { return std::chrono::milliseconds(100); }
  void Save(std::uint64_t /*batches*/, SavedState* state) const override {
    stream_->Save(StateWriter(state, "stream"));
  }
  Status Load(const SavedState& state) { return stream_->Load(StateReader(state, "stream")); }
  void Commit(const SavedState& state) override { stream_->Commit(StateReader(state, "stream")); }
  std::optional<Reading> Metrics() const override { return stream_->Metrics(); }

 private:
  const std::unique_ptr<Streaming> stream_;
};

}  // namespace murmurate
