// A scene for black-box tests: a live Ingest, a learner that takes every batch and gives it back,
// and honest actors whose every trajectory is entered in a ledger: it must arrive exactly once,
// unchanged.
#pragma once

#include <cstdio>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "tests/ingest/stage.h"
#include "tests/sanitized.h"

namespace murmurate {

/// Sends whatever its credit allows.
class HonestActor {
 public:
  HonestActor(Stage& stage, std::uint64_t sender)
      : sender_(sender),
        layout_(StageSpaces(), kStageLength),
        actor_(stage.NewActor(sender, "honest-" + std::to_string(sender))) {
    stage.Greet(*actor_, {{"default", StageSpaces()}});
  }

  void Play() {
    actor_->Listen();
    if (!actor_->welcome.has_value() || ++turns_ % 16 == 0) actor_->Send(wire::Ping{0, {{}}}, 0);
    while (shipped_ * kStageLength < steps_credit()) {
      Shipment shipment = MakeShipment(layout_, kStageLength, Base(shipped_));
      if (actor_->Ship(std::move(shipment)) != SendOutcome::kSent) return;
      ++shipped_;
    }
  }

  /// Enters trajectory `place` of a batch.
  void Enter(const TrainingBatch& batch, int place) {
    const std::uint64_t number = batch.trajectories[place].first_step / kStageLength;
    EXPECT_TRUE(arrived_.insert(number).second) << "trained on twice: " << number;
    for (int step = 0; step < kStageLength; ++step) {
      const std::size_t row = static_cast<std::size_t>(place * kStageLength + step);
      const float expected = Base(number) + static_cast<float>(step);
      ASSERT_EQ(batch.observation[2 * row], expected);
      ASSERT_EQ(batch.observation[2 * row + 1], -expected);
      ASSERT_EQ(batch.reward[row], 10 * expected);
    }
  }

  std::uint32_t index() const { return actor_->welcome->models.at(0).agent_indices.at(0); }
  std::size_t arrived() const { return arrived_.size(); }
  std::uint64_t shipped() const { return shipped_; }
  StageActor& actor() { return *actor_; }

 private:
  /// Whole numbers below 2^20: exact as floats, ten times as well.
  float Base(std::uint64_t number) const {
    return static_cast<float>((sender_ * 65536 + number * 4) % (1u << 20));
  }
  std::uint64_t steps_credit() const {
    if (!actor_->welcome.has_value()) return 0;
    const std::uint64_t granted = actor_->welcome->models[0].steps_total;
    if (actor_->accepted.models.empty()) return granted;
    return std::max(granted, actor_->accepted.models[0].steps_total);
  }

  const std::uint64_t sender_;
  const TrajectoryLayout layout_;
  std::unique_ptr<StageActor> actor_;
  std::uint64_t shipped_ = 0, turns_ = 0;
  std::set<std::uint64_t> arrived_;
};

class Scene {
 public:
  explicit Scene(int honest_actors, Stage::Settings settings = {}) : stage(std::move(settings)) {
    for (int i = 0; i < honest_actors; ++i) {
      honest.push_back(std::make_unique<HonestActor>(stage, static_cast<std::uint64_t>(i + 1)));
    }
  }

  /// One turn of everybody: honest actors, ingest, learner.
  void Turn(int timeout_ms = 0) {
    for (auto& actor : honest) actor->Play();
    stage.ingest->PollOnce(timeout_ms);
    while (auto batch = stage.PopBatch()) {
      for (int place = 0; place < static_cast<int>(batch->trajectories.size()); ++place) {
        for (auto& actor : honest) {
          if (batch->trajectories[place].agent == actor->index()) actor->Enter(*batch, place);
        }
      }
      trained += batch->trajectories.size();
      stage.ReturnUnused(std::move(batch));
    }
  }

  /// Turns until `done`, for ten seconds at most.
  template <typename Done>
  bool Until(Done done) {
    const std::int64_t deadline = MonotonicNs() + 10 * kNanosecondsPerSecond;
    while (!done()) {
      if (MonotonicNs() > deadline) return false;
      Turn(1);
    }
    return true;
  }

  /// Every honest actor gets `count` more trajectories through, unharmed.
  bool HonestGoOn(std::size_t count = 20) {
    std::vector<std::size_t> goals;
    for (const auto& actor : honest) goals.push_back(actor->arrived() + count);
    const bool reached = Until([&] {
      for (std::size_t i = 0; i < honest.size(); ++i) {
        if (honest[i]->arrived() < goals[i]) return false;
      }
      return true;
    });
    for (auto& actor : honest) EXPECT_TRUE(actor->actor().errors.empty());
    return reached;
  }

  std::uint64_t refusals() const {
    std::uint64_t sum = 0;
    for (const std::uint64_t count : stage.ingest->CollectReport().refusals) sum += count;
    return sum;
  }

  Stage stage;
  std::vector<std::unique_ptr<HonestActor>> honest;
  std::uint64_t trained = 0;
};

/// Bytes of memory this process has resident; always 0 under a sanitizer, which keeps freed memory.
inline std::size_t ResidentBytes() {
  if (kSanitized) return 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) return 0;
  unsigned long total = 0, resident = 0;
  const int fields = std::fscanf(file, "%lu %lu", &total, &resident);
  std::fclose(file);
  return fields == 2 ? resident * 4096 : 0;
}

}  // namespace murmurate
