// The checkpoints of a Daemon's models: what is in them, and when one is due.
#include "server/daemon/daemon_state.h"

namespace murmurate {

/// At a batch border on a learning thread, or after all of them have ended.
void Daemon::State::PostCheckpoint(LiveModel* model) {
  if (!model->newest) return;
  auto state =
      std::make_shared<SavedState>(model->gate.shut() ? SavedState{} : model->spare.Take());
  if (!model->gate.shut()) {
    model->learning.front()->learner().Save(state.get());
    ingest->Save(model->name, model->turns->batches(), StateWriter(state.get(), "session"));
    if (model->feeding) model->feeding->Save(StateWriter(state.get(), "data"));
    if (model->streaming) model->streaming->Save(StateWriter(state.get(), "stream"));
    live->Save(StateWriter(state.get(), "settings"));
    live->SaveRates(model->name, StateWriter(state.get(), "rates"));
  }
  auto make = MakerOf(config, model->channel->spec, model->newest, model->steps);
  operate->PostCheckpoint(model->name, [make = std::move(make), state] {
    Checkpoint checkpoint = make();
    checkpoint.state = std::move(*state);
    return checkpoint;
  });
}

/// Posts a checkpoint, when one is due, of a stream that has taken messages while no batch was
/// learned. A stream has one learning thread, on which this is called between two batches, so that
/// the weights are those of this moment.
void Daemon::State::PostUnlearned(LiveModel* model) {
  if (!model->streaming || !model->streaming->unsaved()) return;
  model->gate.Pass([&] {
    if (model->checkpoints.Due(model->steps.learned, MonotonicNs())) PostCheckpoint(model);
  });
}

/// On the writing thread.
void Daemon::State::TakeBack(const std::string& folder, bool written, Checkpoint* checkpoint) {
  LiveModel* model = nullptr;
  {
    std::lock_guard lock(models_mutex);
    for (const auto& one : models)
      if (ModelFolderOf(directory.path(), one->name, one == models.front()) == folder)
        model = one.get();
  }
  if (model == nullptr) return;
  if (written) ingest->Commit(model->name, StateReader(checkpoint->state, "session"));
  if (written && model->streaming)
    model->streaming->Commit(StateReader(checkpoint->state, "stream"));
  model->spare.Give(std::move(checkpoint->state));
}

/// After Operate::Finish has passed on what was posted. The first model's; "" when there is none.
std::string Daemon::State::WriteLastCheckpoints() {
  checkpoint_loop.reset();
  while (operate->writer().PollOnce(0)) continue;
  const CheckpointHealth health = operate->checkpoints();
  const bool written = health.last_step && health.trouble.empty();
  return written ? directory.path() + "/checkpoints/latest" : "";
}

}  // namespace murmurate
