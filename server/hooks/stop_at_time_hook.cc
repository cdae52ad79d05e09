// stop_at_time: ends the run after a time on the clock, whether or not it learns. The time is that
// of this life of the run.
#include "server/hooks/kinds.h"
#include "server/hooks/stopping.h"

namespace murmurate {
namespace {

struct StopAtTimeSettings {
  std::string after;
};

const Keys<StopAtTimeSettings>& StopAtTimeKeys() {
  using namespace keys;
  using S = StopAtTimeSettings;
  static const Keys<S> kKeys("hook.stop_at_time",
                             {{"after", &S::after, "since this life of the run began",
                               Kind(ValueKind::kDuration), Example("\"2h\"")}});
  return kKeys;
}

class StopAtTimeHook : public Hook {
 public:
  StopAtTimeHook(StopAtTimeSettings settings, const HookTools& tools)
      : settings_(std::move(settings)), stopping_(tools) {}

  HookMoments wants() const override { return 0; }
  std::string done() const override { return stopping_.done(); }
  Status OnEvent(const HookEvent&) override { return {}; }

  Status Start(std::int64_t now_ns) override {
    due_ns_ = now_ns + static_cast<std::int64_t>(*SecondsIn(settings_.after) * 1e9);
    return {};
  }
  std::int64_t due_ns() const override { return due_ns_; }
  Status OnTime(std::int64_t) override {
    stopping_.Stop(settings_.after + " have passed");
    return {};
  }

 private:
  const StopAtTimeSettings settings_;
  Stopping stopping_;
  std::int64_t due_ns_ = kNever;
};

Result<std::unique_ptr<Hook>> Make(const SectionView& keys, const HookTools& tools) {
  StopAtTimeSettings settings = StopAtTimeKeys().Read(keys);
  if (settings.after.empty())
    return RefuseHook(keys, "after is not set; write for example after = \"2h\"");
  return std::unique_ptr<Hook>(std::make_unique<StopAtTimeHook>(std::move(settings), tools));
}

}  // namespace

HookKind StopAtTimeHookKind() { return {"stop_at_time", RulesOf<StopAtTimeKeys>, Make}; }

}  // namespace murmurate
