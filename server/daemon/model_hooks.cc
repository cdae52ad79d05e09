#include "server/daemon/model_hooks.h"

#include <utility>

#include "shared/core/clock.h"

namespace murmurate {

void ModelHooks::Begin(LearnLoop* loop, std::shared_ptr<const Snapshot> first) {
  if (!parts_.hooks) return;
  loop_ = loop;
  first_ = std::move(first);
}

void ModelHooks::Tell(HookMoment moment, std::uint64_t version, const StepCount& steps) {
  version_ = version;
  if (!wants(moment)) return;
  HookEvent event{.moment = moment,
                  .model = model_,
                  .at_ns = MonotonicNs(),
                  .steps = steps.learned,
                  .environment_steps = steps.taken,
                  .version = version};
  parts_.operate->mail().Post(
      [hooks = parts_.hooks.get(), event = std::move(event)] { hooks->Post(event); });
}

void ModelHooks::OnTried(const std::string& folder, bool written, const Checkpoint& checkpoint) {
  if (!wants(HookMoment::kCheckpoint)) return;
  parts_.hooks->Post({.moment = HookMoment::kCheckpoint,
                      .model = model_,
                      .at_ns = MonotonicNs(),
                      .steps = checkpoint.weights.steps,
                      .environment_steps = checkpoint.environment_steps,
                      .version = checkpoint.weights.version,
                      .text = CheckpointFolder(folder, checkpoint.weights.steps),
                      .good = written});
}

Result<std::uint64_t> ModelHooks::GoBack(std::shared_ptr<const Snapshot> to) {
  if (!alone_) return InvalidArgument("others step its weights, too");
  if (parts_.ingest->lockstep()) return InvalidArgument("it runs in lock-step");
  const std::uint64_t version = version_;
  loop_->PostReturn(to ? std::move(to) : first_);
  return version;
}

}  // namespace murmurate
