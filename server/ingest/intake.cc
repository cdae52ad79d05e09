#include "server/ingest/intake.h"

#include <algorithm>
#include <utility>

#include "server/ingest/examine.h"

namespace murmurate {

void Intake::OnExperience(Message message, wire::Decoded decoded, std::int64_t now_ns) {
  const wire::ServerSession::Verdict verdict =
      session_->OnExperience(message.peer, decoded, now_ns);
  if (!verdict.accept) {
    pace_->Hurry();
    return;
  }
  Assembly& assembly = (*models_)[verdict.model];
  TrajectoryView view;
  BlockRefusal refused = Examine(decoded, Aligned(decoded.block, &scratch_), options_.incarnation,
                                 assembly.channel(), &view);
  if (refused.refusal == wire::Refusal::kNone)
    refused = assembly.MayTake(view, IsOfThisLife(decoded, options_.incarnation));
  auto outcome = Assembly::Outcome::kNoRoom;
  view.agent = verdict.agent_index;
  view.sender = decoded.header.sender;
  if (refused.refusal == wire::Refusal::kNone) {
    if (assembly.waiting() == 0) outcome = assembly.TryAdd(view, now_ns);
    if (outcome == Assembly::Outcome::kNoRoom || outcome == Assembly::Outcome::kBadObservation) {
      refused = ExamineObservations(view, assembly.channel());
    }
  }
  if (refused.refusal != wire::Refusal::kNone) {
    if (refused.refusal == wire::Refusal::kStale) {
      assembly.channel().refused_late_steps.fetch_add(static_cast<std::uint64_t>(view.steps),
                                                      std::memory_order_relaxed);
    }
    session_->Acknowledge(message.peer, decoded, refused.refusal, std::move(refused.sentence),
                          now_ns);
    pace_->Hurry();
    return;
  }
  PassOn(verdict.model, std::get<wire::Experience>(decoded.body).reports, view);
  if (outcome != Assembly::Outcome::kNoRoom) {
    OnOutcome(verdict.model, message.peer, decoded, outcome, now_ns);
    if (assembly.full()) HandOver(verdict.model, now_ns);
    return;
  }
  auto block = std::make_unique<WaitingBlock>();
  block->message = std::move(message);
  block->decoded = std::move(decoded);
  block->decoded.block = block->message.frames.back().bytes();
  (void)Examine(block->decoded, Aligned(block->decoded.block, &block->aligned),
                options_.incarnation, assembly.channel(), &block->view);
  block->view.agent = verdict.agent_index;
  block->view.sender = view.sender;
  assembly.Keep(std::move(block), now_ns);
}

void Intake::PassOn(std::uint32_t model, std::span<const wire::ReportedNumber> reports,
                    const TrajectoryView& view) const {
  const bool evaluated = std::ranges::any_of(view.episodes, WasEvaluated);
  if (reports.empty() && !evaluated) return;
  const std::string& name = (*models_)[model].name();
  if (!reports.empty() && options_.on_reports)
    options_.on_reports(name, reports, IsOfEvaluation(view));
  if (evaluated && options_.on_evaluated) options_.on_evaluated(name, view.episodes);
  if (const auto& take = (*models_)[model].model().on_evaluated; evaluated && take)
    take(view.episodes);
}

void Intake::OnOutcome(std::uint32_t model, const std::string& peer, const wire::Decoded& decoded,
                       Assembly::Outcome outcome, std::int64_t now_ns) {
  if (outcome == Assembly::Outcome::kAdded) {
    session_->Acknowledge(peer, decoded, wire::Refusal::kNone, "", now_ns);
    pace_->Owe(now_ns);
    return;
  }
  pace_->Hurry();
  session_->Acknowledge(
      peer, decoded, wire::Refusal::kBusy,
      "model " + (*models_)[model].name() +
          ": more finished episodes than a batch may report; send them with steps",
      now_ns);
}

void Intake::AddWaiting(std::uint32_t model, std::int64_t now_ns) {
  Assembly& assembly = (*models_)[model];
  while (assembly.waiting() > 0) {
    assembly.AddKept(now_ns, [&](WaitingBlock& block, Assembly::Outcome outcome) {
      OnOutcome(model, block.message.peer, block.decoded, outcome, now_ns);
    });
    if (!assembly.full()) return;
    HandOver(model, now_ns);
  }
}

void Intake::CountSteps(std::uint32_t model) {
  ExperienceChannel& channel = (*models_)[model].channel();
  channel.environment_steps.store(session_->EnvironmentSteps(model), std::memory_order_relaxed);
  channel.dropped_steps.store(session_->DroppedSteps(model), std::memory_order_relaxed);
  const wire::ServerSession::Waits waits = session_->ActorWaits(model);
  channel.actors_waited_ns.store(waits.waited_ns, std::memory_order_relaxed);
  channel.actors_played_ns.store(waits.played_ns, std::memory_order_relaxed);
}

void Intake::FollowAgents(std::uint32_t model, int live_agents, std::int64_t now_ns) {
  Assembly& assembly = (*models_)[model];
  const std::uint64_t steps = assembly.channel().environment_steps.load(std::memory_order_relaxed);
  const auto shape = assembly.fit().Follow(live_agents, steps, now_ns);
  if (!shape) return;
  assembly.SetShape(*shape);
  session_->SetBatch(model, {shape->length, shape->trajectories,
                             assembly.model().batches_ahead * shape->trajectories});
  pace_->Hurry();
  if (options_.log)
    options_.log(LogLevel::kInfo, "model " + assembly.name() + ": " + assembly.fit().reason() +
                                      ", so trajectories have " + std::to_string(shape->length) +
                                      " steps and batches " + std::to_string(shape->steps()));
  if (assembly.full()) HandOver(model, now_ns);
  AddWaiting(model, now_ns);
}

void Intake::CloseDue(std::uint32_t model, int live_agents, std::int64_t now_ns) {
  Assembly& assembly = (*models_)[model];
  if (assembly.model().current_only) {
    if (!assembly.quorum(session_->finished_agents(model), live_agents, now_ns)) return;
    session_->CloseBatch(model);
    return HandOver(model, now_ns);
  }
  if (!assembly.old(live_agents, now_ns)) return;
  HandOver(model, now_ns);
  AddWaiting(model, now_ns);
}

void Intake::HandOver(std::uint32_t model, std::int64_t now_ns) {
  // guard: IngestThreads.ABatchIsNeverAheadOfTheCountOfItsSteps: the counts of steps are stored
  //   before the batch is handed over
  CountSteps(model);  // before the batch, which is reported with them
  session_->CopyPositions(model, (*models_)[model].next_positions());
  (*models_)[model].HandOver(session_->any_lockstep(), now_ns);
}

}  // namespace murmurate
