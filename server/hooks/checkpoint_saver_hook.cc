// checkpoint_saver: asks for checkpoints beside those of [checkpoint], which keeps and deletes them
// all alike.
#include "server/hooks/kinds.h"

namespace murmurate {
namespace {

struct CheckpointSaverSettings {
  HookTimes times;
};

const Keys<CheckpointSaverSettings>& CheckpointSaverKeys() {
  static const Keys<CheckpointSaverSettings> kKeys("hook.checkpoint_saver",
                                                   WithTimes<CheckpointSaverSettings>({}));
  return kKeys;
}

class CheckpointSaverHook : public Hook {
 public:
  CheckpointSaverHook(const HookTimes& times, HookTools tools)
      : tools_(std::move(tools)), clock_(times) {}

  HookMoments wants() const override { return Bit(HookMoment::kAfterBatch); }

  Status OnEvent(const HookEvent& event) override {
    if (event.moment == HookMoment::kAfterBatch && clock_.Due(event.steps, event.at_ns))
      tools_.actions.checkpoint(event.model);
    return {};
  }

 private:
  const HookTools tools_;
  HookClock clock_;
};

Result<std::unique_ptr<Hook>> Make(const SectionView& keys, const HookTools& tools) {
  const CheckpointSaverSettings settings = CheckpointSaverKeys().Read(keys);
  MURMURATE_RETURN_IF_ERROR(NeedsTimes(keys, settings.times));
  return std::unique_ptr<Hook>(std::make_unique<CheckpointSaverHook>(settings.times, tools));
}

}  // namespace

HookKind CheckpointSaverHookKind() {
  return {"checkpoint_saver", RulesOf<CheckpointSaverKeys>, Make};
}

}  // namespace murmurate
