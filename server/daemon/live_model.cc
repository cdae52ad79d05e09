#include "server/daemon/live_model.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include "server/daemon/learners_advice.h"
#include "server/daemon/make_checkpoint.h"
#include "server/daemon/training_update.h"
#include "server/learn/algorithm.h"
#include "server/operate/operate_settings.h"
#include "server/parameters/parameters_settings.h"
#include "shared/core/check.h"
#include "shared/core/clock.h"
#include "shared/core/random.h"

namespace murmurate {
namespace {

/// How long a learning thread that a hook holds rests before it asks again whether it may learn.
constexpr std::chrono::milliseconds kHeld{100};
/// How long one of a paused run rests at least, unless it is woken, before it looks at the time.
constexpr std::chrono::milliseconds kPaused{1000};
/// How long a rank that `murmurate stop` was told to waits at a border for the others.
constexpr std::int64_t kBorderNs = 5 * kNanosecondsPerSecond;

SavedState StateOf(const Learner& learner) {
  SavedState state;
  learner.Save(&state);
  return state;
}

/// A channel and the memory of its batches, which goes after it.
struct ChannelInMemory {
  ChannelInMemory(const ModelSettings& settings, std::shared_ptr<BatchMemory> given)
      : memory(std::move(given)),
        channel(settings.spec, settings.algorithm.trajectory_length,
                settings.algorithm.batch_steps / settings.algorithm.trajectory_length,
                settings.hogwild ? settings.hogwild->threads : 1,
                memory ? *memory : PlainBatchMemory()) {}

  const std::shared_ptr<BatchMemory> memory;
  ExperienceChannel channel;
};

std::shared_ptr<ExperienceChannel> ChannelFor(const ModelSettings& settings,
                                              std::shared_ptr<BatchMemory> memory) {
  auto both = std::make_shared<ChannelInMemory>(settings, std::move(memory));
  ExperienceChannel* const channel = &both->channel;
  return std::shared_ptr<ExperienceChannel>(std::move(both), channel);
}

/// Null: nothing is watched for. `go_back` is called on the learning thread.
std::unique_ptr<CollapseGuard> MakeGuard(
    RunParts& parts, const std::string& model, const ModelSettings& settings,
    std::function<void(std::shared_ptr<const Snapshot>)> go_back) {
  const OnCollapse on_collapse = parts.config.run().on_collapse;
  if (on_collapse == OnCollapse::kOff || !settings.algorithm.kind->own_play) return nullptr;
  const bool shared = settings.remote || settings.hogwild || parts.options.job;
  return std::make_unique<CollapseGuard>(CollapseOptions{
      .model = model,
      .most_entropy =
          MostEntropy(ActionLayout(settings.spec.spaces.action, settings.spec.continuous)),
      .goes_back = on_collapse == OnCollapse::kReturn && !shared,
      .stays_since = on_collapse == OnCollapse::kSay ? "run.on_collapse says so"
                                                     : "others step its weights, too",
      .lockstep = [&parts] { return parts.ingest->lockstep(); },
      .go_back = std::move(go_back),
      .halve_rate = [&parts, model] { parts.live->HalveRate(model); },
      .log = parts.log});
}

using ReportCallback = std::function<void(const LearnReport&, const ExperienceChannel&)>;

/// Of the first of several learners: says once that exchanges take what the others save. Behind a
/// barrier a wait for an answer is mostly one for the others' games, so nothing is said there.
ReportCallback AdviceOnExchanges(const RunParts& parts, const std::string& model) {
  const ParametersSettings settings = parts.config.parameters();
  if (!settings.shared() || settings.worker != 0 || settings.workers < 2 ||
      IsSynchronous(settings.rule))
    return [](const LearnReport&, const ExperienceChannel&) {};
  return [advice = std::make_shared<ExchangeAdvice>(settings.workers), log = parts.log, model](
             const LearnReport& report, const ExperienceChannel& channel) {
    const auto waited_ns = static_cast<double>(channel.learner_waited_ns.load());
    const std::string sentence = advice->Learned(report, 1e-9 * waited_ns);
    if (!sentence.empty()) log(LogLevel::kWarning, "model " + model + ": " + sentence);
  };
}

/// The run ends as one that is resumed: actors wait for that, and play on meanwhile.
void EndByFailure(const RunParts& parts, const std::string& model, const Status& failure) {
  const std::string what = "model " + model + ": " + failure.message();
  parts.log(LogLevel::kError, what + "; learning ends with the last batch before it");
  parts.signals->RequestFailure(
      Status(failure.code(), what + "; go on with `murmurate resume " + parts.directory.path() +
                                 "`, on another device with --set model.device=\"cpu\""),
      RunEnd::kAskedToResume);
}

Status Demonstrate(LearnLoop* loop, const RecordedPlay& play) {
  const Status status = loop->Demonstrate(play);
  return status.ok() ? status : Status(status.code(), "replay.demonstrations: " + status.message());
}

/// What a learner needs between batches and itself. kResource: there is no memory for it.
Result<std::unique_ptr<ExperienceStore>> MakeStore(const std::string& model, const Learner& learner,
                                                   const ExperienceChannel& channel) {
  auto store = learner.MakeStore(channel.layout, channel.batch_memory);
  if (store.ok()) return store;
  return Status(store.status().code(), "model " + model + ": " + store.status().message());
}

}  // namespace

LiveModel::LiveModel(RunParts* parts, const std::string& name, const ModelSettings& settings,
                     const StepCount& steps, std::size_t number,
                     std::shared_ptr<BatchMemory> memory)
    : parts_(*parts),
      name_(name),
      number_(number),
      channel_(ChannelFor(settings, std::move(memory))),
      turns_(std::make_shared<LearnTurns>(parts->pause->flag())),
      stores_(name, parts->log, &learning_),
      steps_(steps),
      evaluations_(parts, name, channel_->spec, settings.algorithm),
      checkpoints_(parts->config.checkpoint(), steps.learned, MonotonicNs()),
      hooks_(parts, name, !settings.remote && !settings.hogwild && !parts->options.job,
             &checkpoints_) {
  channel_->learned_steps = steps.learned;
  guard_ = MakeGuard(parts_, name_, settings, [this](std::shared_ptr<const Snapshot> to) {
    learning_.front()->PostReturn(std::move(to));
  });
}

void LiveModel::SetSource(std::unique_ptr<ExperienceSource> source) {
  source_ = std::move(source);
  channel_->fed = !source_->from_actors();
}

Status LiveModel::StartLearning(std::unique_ptr<Learner> learner, const SavedState* resumed,
                                const std::string& directory, const RecordedPlay* play) {
  if (source_->of_a_game()) evaluations_.Begin(source_->from_actors());
  parts_.operate->PostModel(name_);
  if (parts_.hooks) parts_.hooks->NameFirstModel(name_);
  const std::uint64_t seed = DeriveSeed(parts_.config.run().seed, number_);
  const Learner& first = *learner;
  const auto add = [&](std::unique_ptr<Learner> one) -> Status {
    auto store = MakeStore(name_, *one, *channel_);
    if (!store.ok()) return store.status();
    learning_.push_back(std::make_unique<LearnLoop>(channel_, std::move(one), Callbacks(),
                                                    MonotonicNs, turns_, *std::move(store)));
    return {};
  };
  MURMURATE_RETURN_IF_ERROR(add(std::move(learner)));
  for (int i = 1; i < channel_->learners; ++i)  // after a resume the order is a new one
    MURMURATE_RETURN_IF_ERROR(add(first.SharedReplica(
        DeriveSeed(DeriveSeed(seed, static_cast<std::uint64_t>(i) + 1), first.version()))));
  if (!directory.empty()) MURMURATE_RETURN_IF_ERROR(stores_.KeepIn(directory, channel_->spec));
  if (resumed) MURMURATE_RETURN_IF_ERROR(stores_.Load(*resumed));
  for (std::size_t i = 0; play && i < learning_.size(); ++i)
    MURMURATE_RETURN_IF_ERROR(Demonstrate(learning_[i].get(), *play));
  SavedState memory = StateOf(first);  // of the first checkpoint, before anything is learned
  stores_.Save(&memory);
  spare_.Release(std::move(memory));
  parts_.live->AddModel(
      name_, first.rates(), [this] { return channel_->steps().learned; },
      [this](const Rates& rates) {
        for (const auto& learning : learning_) learning->PostRates(rates);
      });
  learning_.front()->PollOnce(std::chrono::milliseconds(0));  // the first weights are out
  hooks_.Begin(learning_.front().get(), newest_);
  if (guard_) {
    guard_->Begin(newest_);
    if (resumed) MURMURATE_RETURN_IF_ERROR(guard_->Load(StateReader(*resumed, "collapse")));
  }
  if (!resumed) StartThreads();
  return {};
}

void LiveModel::StartThreads() {
  // Of a source that has received something to keep while no batch was learned. It has one learning
  // thread, on which this is called between two batches: the weights are those of this moment.
  const auto post_unlearned = [this] {
    if (!source_->unsaved()) return;
    gate_.Pass([&] {
      checkpoints_.Look(steps_.learned, MonotonicNs());
      if (checkpoints_.Take()) PostCheckpoint();
    });
  };
  // A thread that may not learn; the first posts the checkpoints that are due meanwhile.
  const auto rest = [this](bool first) {
    if (turns_->paused())
      parts_.pause->Await(std::max(source_->longest_wait(), kPaused), [this, first] {
        return threads_.ending || (first && checkpoints_.due());
      });
    else
      std::this_thread::sleep_for(kHeld);
    if (!first) return;
    if (source_->unsaved())
      gate_.Pass([this] { checkpoints_.Look(steps_.learned, MonotonicNs()); });
    if (!checkpoints_.due()) return;
    turns_->AtRest([this] {
      gate_.Pass([this] {
        if (checkpoints_.Take()) PostCheckpoint();
      });
    });
  };
  const std::string number = number_ == 0 ? "" : '.' + std::to_string(number_);
  for (std::size_t i = 0; i < learning_.size(); ++i) {
    LearnLoop* const learning = learning_[i].get();
    loops_.push_back(std::make_unique<Loop>(
        i == 0 ? "mmr-learn" + number : "mmr-hog" + number + ':' + std::to_string(i + 1),
        [this, learning, i, post_unlearned, rest] {
          if (turns_->paused() || hooks_.Hold()) return rest(i == 0);
          ++threads_.busy;
          if (!learning->PollOnce(source_->longest_wait())) post_unlearned();
          stores_.CheckHealth(i);
          --threads_.busy;
        },
        [this] {
          threads_.ending = true;
          channel_->ready.Close();
          parts_.pause->Wake();
        }));
  }
}

LearnCallbacks LiveModel::Callbacks() {
  LearnCallbacks callbacks;
  callbacks.on_snapshot = [this](std::shared_ptr<const Snapshot> snapshot) {
    gate_.Pass([&] { OnSnapshot(std::move(snapshot)); });
  };
  callbacks.on_report = [this,
                         advise = AdviceOnExchanges(parts_, name_)](const LearnReport& report) {
    gate_.Pass([&] {
      Report(report);
      advise(report, *channel_);
    });
  };
  if (hooks_.wants(HookMoment::kBeforeBatch))
    callbacks.on_batch = [this] {
      gate_.Pass([&] { hooks_.Tell(HookMoment::kBeforeBatch, newest_->version, steps_); });
    };
  callbacks.on_learned = [this](const LearnReport& report, StepCount steps) {
    gate_.Pass([&] {
      if (!channel_->fed) steps_.RaiseTo(steps);
      const auto settings = parts_.live->Learned(name_, report.episodes, steps_.learned);
      if (!settings.empty()) parts_.operate->PostReports(name_, settings, false);
    });
  };
  callbacks.border_due = [this] {
    bool due = false;
    gate_.Pass([&] { due = checkpoints_.due(); });
    return due;
  };
  callbacks.at_border = [this](const Learner&, std::uint64_t) {
    gate_.Pass([&] {
      if (checkpoints_.Take()) PostCheckpoint();
    });
  };
  callbacks.on_failure = [this](const Status& failure) {
    gate_.Pass([&] { EndByFailure(parts_, name_, failure); });
  };
  callbacks.on_waiting = [this](const std::string& sentence) {
    gate_.Pass([&] { parts_.log(LogLevel::kInfo, "model " + name_ + ": " + sentence); });
  };
  callbacks.wake_ingest = [this] { gate_.Pass([&] { parts_.ingest->Wake(); }); };
  return callbacks;
}

void LiveModel::OnSnapshot(std::shared_ptr<const Snapshot> snapshot) {
  if (newest_ && snapshot->version <= newest_->version) return;
  newest_ = snapshot;
  parts_.publishing->Post(name_, snapshot);
  parts_.publishing->Wake();
  hooks_.Tell(HookMoment::kNewVersion, snapshot->version, steps_);
  source_->OnSnapshot(snapshot);
  evaluations_.Offer(std::move(snapshot), steps_);
}

double LiveModel::WatchBatches() {
  double longest_s = 0;
  for (const auto& learning : learning_) {
    longest_s = std::max(longest_s, learning->BatchSeconds());
    if (const std::string late = learning->LateBatch(); !late.empty())
      parts_.log(LogLevel::kWarning, "model " + name_ + ": " + late);
  }
  return longest_s;
}

void LiveModel::Report(const LearnReport& report) {
  source_->OnTrained();
  if (channel_->fed) steps_ = channel_->steps();
  TrainingUpdate update = ToUpdate(name_, *channel_, report, steps_);
  update.metrics.Set(kVersion, static_cast<double>(newest_->version));  // perhaps another's
  checkpoints_.Look(update.steps.learned, update.at_ns);
  parts_.operate->Post(std::move(update));
  if (guard_) guard_->Learned(report, newest_, parts_.live->settings());
}

void LiveModel::PostCheckpoint() {
  if (!newest_) return;
  auto state = std::make_shared<SavedState>(gate_.shut() ? SavedState{} : spare_.Acquire());
  if (!gate_.shut()) {
    learning_.front()->learner().Save(state.get());
    stores_.Save(state.get());
    source_->Save(turns_->batches(), state.get());
    parts_.live->Save(StateWriter(state.get(), "settings"));
    parts_.live->SaveRates(name_, StateWriter(state.get(), "rates"));
    if (guard_) guard_->Save(StateWriter(state.get(), "collapse"));
  }
  auto make = MakerOf(parts_.config, channel_->spec, newest_, steps_);
  parts_.operate->PostCheckpoint(name_, [this, make = std::move(make), state] {
    stores_.Seal(state.get());
    Checkpoint checkpoint = make();
    checkpoint.state = std::move(*state);
    return checkpoint;
  });
}

void LiveModel::OnTried(const std::string& folder, bool written, Checkpoint* checkpoint) {
  hooks_.OnTried(folder, written, *checkpoint);
  if (written) source_->Commit(checkpoint->state);
  if (written) stores_.Written(checkpoint->state);
  spare_.Release(std::move(checkpoint->state));
}

void LiveModel::AskToEnd() {
  source_->Stop();
  for (const auto& loop : loops_) loop->RequestStop();
  // `murmurate stop` is told to one rank: its wait for the others at a border goes on (AwaitEnd).
  const bool rank_alone = parts_.options.job != nullptr && parts_.signals->requested();
  if (!rank_alone)
    for (const auto& learning : learning_) learning->Interrupt();
  turns_->End(*channel_);  // only batches in training are waited for
}

/// A rank's batch is the others', too: a rank that left in its middle would end the job. So it
/// waits as long as that takes, and the second signal, or the launcher, ends it.
bool LiveModel::AwaitEnd(std::int64_t deadline_ns) {
  const bool is_rank = parts_.options.job != nullptr;
  const std::int64_t leave_border_ns = MonotonicNs() + kBorderNs;
  while (threads_.busy > 0 && (is_rank || MonotonicNs() < deadline_ns)) {
    if (!is_rank)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    else if (parts_.signals->Wait(1) == Signals::Event::kSignal || MonotonicNs() >= leave_border_ns)
      for (const auto& learning : learning_) learning->Interrupt();
  }
  if (threads_.busy == 0) {
    loops_.clear();
    return true;
  }
  gate_.Shut();
  parts_.log(LogLevel::kWarning,
             "model " + name_ + ": its last batch takes too long, so its result is lost");
  return false;
}

}  // namespace murmurate
