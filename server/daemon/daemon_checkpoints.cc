// The checkpoints of a Daemon's models: what is in them, and when one is due.
#include "server/daemon/daemon_state.h"

namespace murmurate {

/// At a batch border on a learning thread, or after all of them have ended.
void Daemon::State::PostCheckpoint(LiveModel* model) {
  if (!model->newest) return;
  auto state =
      std::make_shared<SavedState>(model->gate.shut() ? SavedState{} : model->spare.Take());
  if (!model->gate.shut()) {
    model->learning.front()->Save(state.get());
    model->source->Save(model->turns->batches(), state.get());
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

/// Posts a checkpoint, when one is due, of a source that has received something to keep while no
/// batch was learned. Such a source has one learning thread, on which this is called between two
/// batches, so that the weights are those of this moment.
void Daemon::State::PostUnlearned(LiveModel* model) {
  if (!model->source->unsaved()) return;
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
  if (written) model->source->Commit(checkpoint->state);
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
