// Intake: EXPERIENCE on its way from a message into the batch of its model, and the batch on its
// way to the learning thread. One thread, or under the lock of its owner.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "server/ingest/ingest.h"
#include "server/ingest/model_table.h"
#include "server/ingest/round_pace.h"
#include "shared/core/aligned_floats.h"

namespace murmurate {

class Intake {
 public:
  /// All of them must outlive this.
  Intake(const IngestOptions& options, wire::ServerSession* session, ModelTable* models,
         RoundPace* pace)
      : options_(options), session_(session), models_(models), pace_(pace) {}

  /// Verifies an EXPERIENCE and copies it into its batch, or keeps it until there is room.
  void OnExperience(Message message, wire::Decoded decoded, std::int64_t now_ns);
  /// Copies what was kept, as far as there is room now.
  void AddWaiting(std::uint32_t model, std::int64_t now_ns);
  /// Hands over a batch that time has closed: by quorum, or because it is old. Not in lock-step.
  void CloseDue(std::uint32_t model, int live_agents, std::int64_t now_ns);
  /// Gives the model's batches the shape for so many agents at the speed of the counted steps.
  /// Not in lock-step.
  void FollowAgents(std::uint32_t model, int live_agents, std::int64_t now_ns);
  /// Publishes the steps of all actors to the learning thread.
  void CountSteps(std::uint32_t model);

 private:
  void OnOutcome(std::uint32_t model, const std::string& peer, const wire::Decoded& decoded,
                 Assembly::Outcome outcome, std::int64_t now_ns);
  void PassOn(std::uint32_t model, std::span<const wire::ReportedNumber> reports,
              const TrajectoryView& view) const;
  void HandOver(std::uint32_t model, std::int64_t now_ns);

  const IngestOptions& options_;
  wire::ServerSession* const session_;
  ModelTable* const models_;
  RoundPace* const pace_;
  AlignedFloats scratch_;
};

}  // namespace murmurate
