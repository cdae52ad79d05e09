// What ingest saves in a checkpoint, goes on from, and does when a run is to end.
#include "server/ingest/ingest_state.h"
#include "shared/core/check.h"

namespace murmurate {

Status Ingest::AddModel(const std::string& name, const OfferedModel& offered,
                        const StateReader& reader) {
  const std::lock_guard lock(state_->mutex);
  const Result<std::uint32_t> number = state_->TakeModel(name, offered);
  if (!number.ok()) return number.status();
  MURMURATE_RETURN_IF_ERROR(state_->session.Load(*number, reader));
  state_->session.CopyPositions(*number, &state_->assemblies[*number]->first_positions);
  state_->CountSteps(*number);
  return {};
}

void Ingest::Save(const std::string& model, std::uint64_t batches,
                  const StateWriter& writer) const {
  const std::lock_guard lock(state_->mutex);
  const auto number = state_->model_numbers.find(model);
  if (number == state_->model_numbers.end()) return;  // it learns from files
  state_->session.Save(number->second, state_->assemblies[number->second]->PositionsOf(batches),
                       writer);
}

void Ingest::Commit(const std::string& model, const StateReader& reader) {
  const auto positions = wire::ServerSession::ReadPositions(reader);
  if (!positions.ok()) return;  // weights only
  {
    const std::lock_guard lock(state_->mutex);
    const auto number = state_->model_numbers.find(model);
    if (number == state_->model_numbers.end()) return;
    state_->session.Commit(number->second, *positions);
    state_->urgent = true;
  }
  Wake();
}

void Ingest::StopGranting() {
  const std::lock_guard lock(state_->mutex);
  state_->session.StopGranting();
}

bool Ingest::AtBorder() const {
  const std::lock_guard lock(state_->mutex);
  if (!state_->session.any_lockstep()) return true;
  for (std::uint32_t model = 0; model < state_->assemblies.size(); ++model) {
    if (!state_->session.AtBorder(model)) return false;
  }
  return true;
}

}  // namespace murmurate
