// PlayReport: how a client's agents play, for the learner (PING) and for the log: steps, waits, and
// what could not be learned from. A learner is told what was played for it, not what was played
// before it came. mmr-client only; models are in the order of Hello::models.
#pragma once

#include <cstdint>
#include <vector>

#include "client/agent_registry.h"
#include "client/block_sender.h"
#include "client/dropped_play.h"
#include "murmurate/log.h"

namespace murmurate {

class PlayReport {
 public:
  PlayReport(const AgentRegistry& registry, const BlockSender& sender, LogCallback log);

  /// Another learner is followed from now on.
  void RecordBaseline(const std::vector<RegisteredModel>& models);
  /// The time from the last call until now was played, by the `introduced` first models; for the
  /// learner if `live`.
  void NotePlayed(const std::vector<RegisteredModel>& models, std::size_t introduced, bool live,
                  std::int64_t now_ns);
  /// The learner does not answer: what is dropped until the next Ping is not the game's pace.
  void Pause();
  /// Logs once the troubles that no agent reports itself.
  wire::Ping Ping(const std::vector<RegisteredModel>& models, std::size_t introduced, bool live);
  /// Logs which agents wait for what when nothing moved for a second; once until something moves.
  void NoteWaiting(const std::vector<RegisteredModel>& models, std::int64_t now_ns);

 private:
  /// The playing time of a model's agents together, for this learner.
  struct Life {
    std::int64_t waited_before_ns = 0, played_ns = 0;
  };
  /// A model whose agents wait while nothing changes.
  struct Standstill {
    std::uint32_t progress = 0;
    std::int64_t since_ns = 0;
    bool said = false;
  };
  std::vector<wire::PingTrouble> Troubles(const std::vector<RegisteredModel>& models,
                                          std::size_t introduced);

  const AgentRegistry& registry_;
  const BlockSender& sender_;
  const LogCallback log_;
  std::vector<RegistryCounts> baseline_;  ///< what had been played before this learner
  std::vector<Life> lives_;
  std::vector<DroppedPlay> dropped_;
  std::vector<Standstill> waits_;
  std::int64_t played_until_ns_ = 0;
};

}  // namespace murmurate
