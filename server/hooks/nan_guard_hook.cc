// nan_guard: reacts when the losses or gradients of so many batches in a row are not finite: it
// ends the run, or has the model go back and learn on at a lower rate, for so many times.
#include "server/hooks/kinds.h"
#include "server/hooks/nan_guard.h"
#include "server/hooks/stopping.h"
#include "server/metrics/number_text.h"

namespace murmurate {
namespace {

struct NanGuardSettings {
  OnNan action = OnNan::kStop;
  int batches = 1, times = 3;
  double rate_factor = 0.5;
};

const Keys<NanGuardSettings>& NanGuardKeys() {
  using namespace keys;
  using S = NanGuardSettings;
  static const Keys<S> kKeys(
      "hook.nan_guard",
      {{"action", &S::action,
        "end the run, or go back to the newest finite checkpoint at a lower learning rate"},
       {"batches", &S::batches, "in a row whose numbers are not finite", Range(1, 100'000)},
       {"times", &S::times, "restore: how often it goes back before it ends the run",
        Range(1, 1000)},
       {"rate_factor", &S::rate_factor, "restore: what the learning rate is multiplied by",
        Range(kTiny, 1)}});
  return kKeys;
}

class NanGuardHook : public Hook {
 public:
  NanGuardHook(const NanGuardSettings& settings, const HookTools& tools)
      : settings_(settings), stopping_(tools) {}

  HookMoments wants() const override { return Bit(HookMoment::kAfterBatch); }
  std::string done() const override { return stopping_.done(); }

  Status OnEvent(const HookEvent& event) override {
    if (event.moment == HookMoment::kEnd || event.version <= ignored_to_) return {};
    in_a_row_ = event.finite ? 0 : in_a_row_ + 1;
    if (in_a_row_ < settings_.batches) return {};
    in_a_row_ = 0;
    const std::string what = "losses or gradients of model " + event.model +
                             " are not finite numbers at step " + WithCommas(event.steps);
    if (settings_.action == OnNan::kStop)
      stopping_.Stop(what, LogLevel::kWarning);
    else if (restored_ == settings_.times)
      stopping_.Stop(what + ", and it went back " + std::to_string(restored_) + " times already",
                     LogLevel::kWarning);
    else
      Restore(event, what);
    return {};
  }

 private:
  void Restore(const HookEvent& event, const std::string& what) {
    const auto to = stopping_.tools().actions.restore(event.model, settings_.rate_factor);
    if (!to.ok())
      return stopping_.Stop(what + ", and it cannot go back: " + to.status().message(),
                            LogLevel::kWarning);
    ++restored_;
    ignored_to_ = to->version + 1;  // the batch under way still has the bad numbers
    stopping_.tools().log(LogLevel::kWarning, "hook " + stopping_.tools().name + ": " + what +
                                                  "; it goes back to " + to->what + " (" +
                                                  std::to_string(restored_) + " of at most " +
                                                  std::to_string(settings_.times) + " times)");
  }

  const NanGuardSettings settings_;
  Stopping stopping_;
  int in_a_row_ = 0, restored_ = 0;
  std::uint64_t ignored_to_ = 0;
};

Result<std::unique_ptr<Hook>> Make(const SectionView& keys, const HookTools& tools) {
  const NanGuardSettings settings = NanGuardKeys().Read(keys);
  if (settings.action == OnNan::kStop)
    MURMURATE_RETURN_IF_ERROR(
        keys.NoneOf({"times", "rate_factor"}, "action = \"stop\" goes back to nothing"));
  return std::unique_ptr<Hook>(std::make_unique<NanGuardHook>(settings, tools));
}

}  // namespace

HookKind NanGuardHookKind() { return {"nan_guard", RulesOf<NanGuardKeys>, Make}; }

}  // namespace murmurate
