// wait_for_step: of several learners that share a model, those but the first begin to learn when
// another one, or the shard, has come so far. Until then no batch of this learner begins; its games
// play and wait as they do for a slow learner.
#include <atomic>

#include "server/hooks/kinds.h"
#include "server/metrics/number_text.h"
#include "shared/core/clock.h"

namespace murmurate {
namespace {

constexpr std::int64_t kAskEveryNs = kNanosecondsPerSecond / 4;

struct WaitForStepSettings {
  std::optional<std::uint64_t> step;
  std::string of;
  int from_worker = 1;
  double at_most_s = 600.0;
};

const Keys<WaitForStepSettings>& WaitForStepKeys() {
  using namespace keys;
  using S = WaitForStepSettings;
  static const Keys<S> kKeys(
      "hook.wait_for_step",
      {{"step", &S::step, "learned from by the other (of a shard: its version)", Example("50_000"),
        Range(1, kMany)},
       {"of", &S::of, "the run folder of that learner or shard, on this host",
        Kind(ValueKind::kPath), Example("\"runs/first\"")},
       {"from_worker", &S::from_worker,
        "learners with this number (parameters.worker) and above "
        "wait",
        Range(0, 1'000'000)},
       {"at_most_s", &S::at_most_s, "seconds after which it learns all the same",
        Range(kTiny, 31'536'000)}});
  return kKeys;
}

class WaitForStepHook : public Hook {
 public:
  WaitForStepHook(WaitForStepSettings settings, HookTools tools)
      : settings_(std::move(settings)),
        tools_(std::move(tools)),
        holds_(tools_.worker >= settings_.from_worker) {}

  HookMoments wants() const override { return 0; }
  bool holds() const override { return holds_; }
  std::string done() const override { return holds_ ? "" : done_; }
  Status OnEvent(const HookEvent&) override {
    Begin("it did not learn, because the run ended first");
    return {};
  }

  Status Start(std::int64_t now_ns) override {
    due_ns_ = now_ns;
    until_ns_ = now_ns + static_cast<std::int64_t>(settings_.at_most_s * 1e9);
    if (!holds_) done_ = "worker " + std::to_string(tools_.worker) + " waits for nothing";
    return {};
  }
  std::int64_t due_ns() const override { return holds_ ? due_ns_ : kNever; }

  Status OnTime(std::int64_t now_ns) override {
    due_ns_ = now_ns + kAskEveryNs;
    const auto steps = tools_.actions.steps_of(settings_.of);
    if (steps.ok() && *steps >= *settings_.step)
      Begin("learns since " + settings_.of + " has come to step " + WithCommas(*steps));
    else if (now_ns >= until_ns_)
      Begin("learns since it has waited for " + ShortDuration(settings_.at_most_s) + "; " +
            settings_.of +
            (steps.ok() ? " is at step " + WithCommas(*steps) : ": " + steps.status().message()));
    return {};
  }

 private:
  void Begin(const std::string& sentence) {
    if (!holds_) return;
    done_ = sentence;
    holds_ = false;
    tools_.log(LogLevel::kInfo, "hook " + tools_.name + ": " + sentence);
  }

  const WaitForStepSettings settings_;
  const HookTools tools_;
  std::int64_t due_ns_ = kNever, until_ns_ = kNever;
  std::string done_;
  std::atomic<bool> holds_;
};

Result<std::unique_ptr<Hook>> Make(const SectionView& keys, const HookTools& tools) {
  WaitForStepSettings settings = WaitForStepKeys().Read(keys);
  if (!settings.step || settings.of.empty())
    return RefuseHook(keys,
                      "it needs step and of; write for example step = 50_000 and of = "
                      "\"runs/first\"");
  return std::unique_ptr<Hook>(std::make_unique<WaitForStepHook>(std::move(settings), tools));
}

}  // namespace

HookKind WaitForStepHookKind() { return {"wait_for_step", RulesOf<WaitForStepKeys>, Make}; }

}  // namespace murmurate
