// The threads of a daemon that repeat its parts, and what each turn is.
#include "server/daemon/daemon_state.h"
#include "server/metrics/number_text.h"
#include "shared/core/clock.h"

namespace murmurate {
namespace {

/// The longest wait of loops that know when their work is due, and are woken for all else.
constexpr int kLongestWaitMs = 10'000;

}  // namespace

void Daemon::State::StartLoops() {
  publish_loop = std::make_unique<Loop>(
      "mmr-publish", [this] { parts.publishing->PollOnce(kLongestWaitMs); },
      [this] { parts.publishing->Wake(); });
  checkpoint_loop = std::make_unique<Loop>(
      "mmr-checkpoint", [this] { TurnCheckpoint(); }, [this] { parts.operate->writer().Wake(); });
  operate_loop = std::make_unique<Loop>(
      "mmr-operate", [this] { TurnOperate(); }, [this] { parts.operate->mail().Wake(); });
  ingest_loop = std::make_unique<Loop>(
      "mmr-ingest",
      [this] {
        parts.ingest->PollOnce(life.MostWaitMs(kLongestWaitMs));
        life.IngestTurned(MonotonicNs());
      },
      [this] { parts.ingest->Wake(); });
  if (page)
    page_loop = std::make_unique<Loop>(
        "mmr-page", [this] { page->PollOnce(kLongestWaitMs); }, [this] { page->Wake(); });
}

void Daemon::State::TurnOperate() {
  parts.operate->PollOnce(life.MostWaitMs(kLongestWaitMs));
  const double batch_s = models.WatchBatches();
  const std::int64_t now_ns = MonotonicNs();
  life.OperateTurned(now_ns, batch_s);
  const Progress& progress = parts.operate->progress();
  const auto mean = progress.means().mean_return();
  life.Say(now_ns, WithCommas(progress.learned_steps()) + " steps learned from" +
                       (mean ? ", mean return " + ReturnText(*mean) : "") +
                       (parts.pause->Report() ? "; learning is paused" : ""));
}

void Daemon::State::TurnCheckpoint() {
  parts.operate->writer().PollOnce(kLongestWaitMs);
  disk->Keep();
}

void Daemon::State::StartReloading() {
  ReloadTargets targets;
  targets.set = [this](const std::string& assignment) {
    return parts.live->Set(assignment, "by a reload");
  };
  targets.stop_rules = [this](const RunSettings& run) {
    parts.operate->PostStopRules(run.stop_at_return, run.stop_at_steps);
  };
  targets.max_disk = [this](std::optional<std::uint64_t> bytes) {
    disk->set_max_bytes(bytes.value_or(DiskBudget::kUnbounded));
  };
  targets.log_level = [this](LogLevel level) { parts.log_file->SetLevel(level); };
  reloading.emplace(parts.config, std::move(targets), parts.log);
}

}  // namespace murmurate
