// command: a program of the user's own, which reads one JSON object a line from its standard
// input. What it prints goes to hooks/NAME.log in the run's folder. When it ends before the run
// does, it is started again, or left, as its keys say.
#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include "server/hooks/event_json.h"
#include "server/hooks/hook_process.h"
#include "server/hooks/kinds.h"
#include "server/hooks/moments.h"
#include "server/metrics/number_text.h"
#include "shared/core/clock.h"

namespace murmurate {

/// What becomes of a command that ends before the run does.
enum class OnExit : std::uint8_t { kRestart, kLeave };
constexpr EnumName<OnExit> kOnExitNames[] = {{OnExit::kRestart, "restart"},
                                             {OnExit::kLeave, "leave"}};
constexpr std::span<const EnumName<OnExit>> NamesOf(OnExit) { return kOnExitNames; }

namespace {

constexpr int kSliceMs = 20;
constexpr int kEndPolls = 50;  ///< of 2 ms, for a command that closes its input because it ends
constexpr std::int64_t kLookEveryNs = kNanosecondsPerSecond;

struct CommandSettings {
  std::string command;
  std::vector<std::string> events = {};
  OnExit on_exit = OnExit::kRestart;
  double restart_s = 5.0;
  int restarts = 10;
  double read_s = 10.0;
};

const Keys<CommandSettings>& CommandKeys() {
  using namespace keys;
  using S = CommandSettings;
  static const Keys<S> kKeys(
      "hook.command",
      {{"command", &S::command, "of the shell, fed JSON lines", Example("\"python3 hook.py\"")},
       {"events", &S::events, "that it is fed; [] stands for all", Example("[\"after_batch\"]")},
       {"on_exit", &S::on_exit, "when it ends before the run does"},
       {"restart_s", &S::restart_s, "seconds from one start to the next, at least",
        Range(0, 86'400)},
       {"restarts", &S::restarts, "how often it is started again, at most", Range(0, 1'000'000)},
       {"read_s", &S::read_s, "seconds for which an event waits for room in its pipe",
        Range(0, 3600)}});
  return kKeys;
}

class CommandHook : public Hook {
 public:
  CommandHook(CommandSettings settings, HookMoments moments, HookTools tools)
      : settings_(std::move(settings)), moments_(moments), tools_(std::move(tools)) {}

  HookMoments wants() const override { return moments_; }
  std::string done() const override { return done_; }
  void Interrupt() override { interrupted_ = true; }
  void OnDropped(std::uint64_t so_far) override { dropped_ = so_far; }

  void Close() override { process_.End(); }

  Status Start(std::int64_t now_ns) override {
    std::error_code error;
    std::filesystem::create_directories(tools_.folder + "/hooks", error);
    started_ns_ = now_ns;
    deaf_ = event_unwritten_ = false;
    unwritten_ = JsonBegin(tools_.name, tools_.folder);
    return process_.Start(settings_.command, tools_.folder + "/hooks/" + tools_.name + ".log");
  }

  std::int64_t due_ns() const override { return look_ns_; }
  Status OnTime(std::int64_t now_ns) override {
    look_ns_ = now_ns + kLookEveryNs;
    return Look(now_ns);
  }

  Status OnEvent(const HookEvent& event) override {
    const bool end = event.moment == HookMoment::kEnd;
    const Status status = Feed(event, end);
    if (end && process_.started()) AwaitEnd();
    if (!status.ok() || unwritten_.empty() || end) return status;
    return Unavailable("it has not read its standard input for " + ShortDuration(settings_.read_s) +
                       ", so it misses events; read each line as it comes");
  }

 private:
  /// Writes an event, or loses it.
  Status Feed(const HookEvent& event, bool end) {
    Status status = Look(MonotonicNs());
    if (status.ok() && process_.started() && !deaf_) status = Flush(end);
    if (!status.ok() || !process_.started() || deaf_ || !unwritten_.empty()) {
      ++missed_;
      return status;
    }
    unwritten_ = JsonLineOf(event, dropped_ + missed_);
    event_unwritten_ = true;
    return Flush(end);
  }

  /// Writes what is not written yet, as long as there is room or will be soon; at the end of the
  /// run, as long as there is time.
  Status Flush(bool end) {
    const std::int64_t until_ns = MonotonicNs() + static_cast<std::int64_t>(settings_.read_s * 1e9);
    while (!unwritten_.empty() && !interrupted_) {
      const auto written = process_.WriteSome(unwritten_, kSliceMs);
      if (!written.ok()) return OnClosedInput();
      unwritten_.erase(0, *written);
      if (*written == 0 && !end && MonotonicNs() >= until_ns) break;
    }
    return {};
  }

  void LoseUnwritten() {
    if (event_unwritten_ && !unwritten_.empty()) ++missed_;
    unwritten_.clear();
  }

  /// It ends, or it lives on and reads nothing more.
  Status OnClosedInput() {
    LoseUnwritten();
    for (int i = 0; i < kEndPolls && !interrupted_; ++i) {
      if (const auto ended = process_.CollectEnd()) return OnEnded(*ended);
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    deaf_ = true;
    return Unavailable(
        "the command has closed its standard input, so it misses events; read it to its end");
  }

  /// Takes note of its end, and starts it again when that is due.
  Status Look(std::int64_t now_ns) {
    const bool due = now_ns >= started_ns_ + static_cast<std::int64_t>(settings_.restart_s * 1e9);
    if (const auto ended = process_.CollectEnd()) return OnEnded(*ended);
    if (process_.started() || !done_.empty() || !due || interrupted_) return {};
    ++restarts_;
    return Start(now_ns);
  }

  Status OnEnded(const std::string& how) {
    LoseUnwritten();
    const bool restarts = settings_.on_exit == OnExit::kRestart && restarts_ < settings_.restarts;
    const std::string log = "; see " + tools_.folder + "/hooks/" + tools_.name + ".log";
    if (restarts) return Unavailable("the command " + how + ", and is started again" + log);
    const std::string why =
        settings_.on_exit == OnExit::kLeave
            ? ", and on_exit = \"leave\""
            : ", after " + std::to_string(restarts_) + " restarts, and restarts allows no more";
    done_ = "the command " + how + why;
    return Unavailable(done_ + log);
  }

  /// Until it has ended by itself, or there is no more time.
  void AwaitEnd() {
    process_.CloseInput();
    while (process_.started() && !interrupted_ && !process_.CollectEnd())
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    process_.End();
    done_ = "the run has ended";
  }

  const CommandSettings settings_;
  const HookMoments moments_;
  const HookTools tools_;
  HookProcess process_;
  std::int64_t started_ns_ = 0, look_ns_ = 0;
  int restarts_ = 0;
  bool deaf_ = false;             ///< the process has closed its standard input
  bool event_unwritten_ = false;  ///< what is not written yet is of an event, not the begin
  std::uint64_t dropped_ = 0, missed_ = 0;  ///< events without room in the queue; in the pipe
  std::string unwritten_, done_;
  std::atomic<bool> interrupted_{false};
};

Result<std::unique_ptr<Hook>> Make(const SectionView& keys, const HookTools& tools) {
  CommandSettings settings = CommandKeys().Read(keys);
  if (settings.command.empty())
    return RefuseHook(keys, "command is not set; write for example command = \"python3 hook.py\"");
  const auto moments = MomentsOf(keys, settings.events);
  if (!moments.ok()) return moments.status();
  return std::unique_ptr<Hook>(std::make_unique<CommandHook>(std::move(settings), *moments, tools));
}

}  // namespace

HookKind CommandHookKind() { return {"command", RulesOf<CommandKeys>, Make, true}; }

}  // namespace murmurate
