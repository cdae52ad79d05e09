#include "server/learn/learn_loop.h"

#include <algorithm>
#include <string>
#include <utility>

#include "server/metrics/number_text.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

/// How long the learner may be without a batch before it says why.
constexpr std::chrono::milliseconds kShortWait{2000};
constexpr std::int64_t kBetweenSentencesNs = 60 * kNanosecondsPerSecond;

/// "experience", "experience.2", ...
std::string SectionOf(int loop) {
  return loop == 0 ? "experience" : "experience." + std::to_string(loop + 1);
}

std::unique_ptr<ExperienceStore> StoreFor(const Learner& learner,
                                          const ExperienceChannel& channel) {
  auto made = learner.MakeStore(channel.layout, channel.batch_memory);
  MURMURATE_CHECK(made.ok(), made.status().message().c_str());
  return *std::move(made);
}

}  // namespace

LearnLoop::LearnLoop(std::shared_ptr<ExperienceChannel> channel, std::unique_ptr<Learner> learner,
                     LearnCallbacks callbacks, std::function<std::int64_t()> now_ns,
                     std::shared_ptr<LearnTurns> turns, std::unique_ptr<ExperienceStore> store)
    : channel_(std::move(channel)),
      turns_(turns ? std::move(turns) : std::make_shared<LearnTurns>()),
      learner_(std::move(learner)),
      callbacks_(std::move(callbacks)),
      store_(store ? std::move(store) : StoreFor(*learner_, *channel_)),
      now_ns_(std::move(now_ns)) {}

/// The number first: no actor may play under a version that ingest does not know.
void LearnLoop::Publish() {
  const std::uint64_t version = learner_->version();
  std::uint64_t newest = channel_->version.load(std::memory_order_relaxed);
  while (newest < version &&
         !channel_->version.compare_exchange_weak(newest, version, std::memory_order_release,
                                                  std::memory_order_relaxed)) {
  }
  if (callbacks_.on_snapshot) callbacks_.on_snapshot(learner_->MakeSnapshot());
}

void LearnLoop::SaveStore(int loop, SavedState* state) const {
  store_->Save(StateWriter(state, SectionOf(loop)));
}

Status LearnLoop::LoadStore(int loop, const SavedState& state) {
  due_ = true;
  return store_->Load(StateReader(state, SectionOf(loop)));
}

void LearnLoop::SealStore(int loop, SavedState* state) const {
  store_->Seal(StateReader(*state, SectionOf(loop)), StateWriter(state, SectionOf(loop)));
}

void LearnLoop::StoreWritten(int loop, const SavedState& state) const {
  store_->Written(StateReader(state, SectionOf(loop)));
}

void LearnLoop::PostRates(const Rates& rates) {
  const std::lock_guard lock(mutex_);
  rates_ = rates;
}

void LearnLoop::PostReturn(std::shared_ptr<const Snapshot> to) {
  const std::lock_guard lock(mutex_);
  returns_to_ = std::move(to);
}

void LearnLoop::ApplyPosted() {
  const std::lock_guard lock(mutex_);
  if (rates_) learner_->SetRates(*rates_);
  if (returns_to_) (void)learner_->GoBack(returns_to_->parameters);
  rates_.reset();
  returns_to_.reset();
}

LearnReport LearnLoop::Train(TrainingBatch& batch, std::uint64_t learned_steps) {
  LearnReport report;
  report.left_out = failed_;
  if (failed_) return report;
  const std::int64_t begin_ns = now_ns_();
  watch_.Begin(begin_ns);
  report = learner_->Learn(batch, learned_steps,
                           [this](const auto& visit) { turns_->VisitNext(*channel_, visit); });
  const std::int64_t end_ns = now_ns_();
  watch_.End(end_ns);
  report.learn_s = 1e-9 * static_cast<double>(end_ns - begin_ns);
  failed_ = !report.failure.ok();
  if (failed_ && callbacks_.on_failure) callbacks_.on_failure(report.failure);
  return report;
}

std::string LearnLoop::LateBatch() {
  const auto late = watch_.Look(now_ns_());
  const std::string where = late ? learner_->Progress() : "";
  if (where.empty()) return "";
  return "a batch has taken " + ShortDuration(late->seconds) + " so far" +
         (late->usual_s > 0
              ? ", and they usually take " + FormatNumber("%.2g", late->usual_s) + " s"
              : "") +
         " (" + where + ')';
}

/// False: the batch was left out, as if it had never come: a resumed run gets it again.
bool LearnLoop::Learn(TrainingBatch& batch, bool held_out) {
  ApplyPosted();
  StepCount steps = channel_->steps();
  if (!batch.learned) channel_->staleness.Post(batch.trajectories, channel_->version.load());
  if (callbacks_.on_batch && !held_out && !failed_) callbacks_.on_batch();
  const LearnReport report = Train(batch, steps.learned);
  store_->Learned({!report.left_out, report.trained_steps, learner_->row_answers()});
  const std::uint64_t learned_steps = CountLearned();
  if (report.left_out) return false;
  if (!report.held_out) {
    if (!channel_->fed) steps.learned = learned_steps;
    if (callbacks_.on_learned) callbacks_.on_learned(report, steps);
    Publish();
  }
  if (callbacks_.on_report) callbacks_.on_report(report);
  if (callbacks_.at_border && (!callbacks_.border_due || callbacks_.border_due()))
    turns_->Alone(held_out, [this] { callbacks_.at_border(*learner_, turns_->batches()); });
  return true;
}

/// Adds what the store has counted since the last time, but its credit. The model's learned steps.
std::uint64_t LearnLoop::CountLearned() {
  const StoreCounts now = store_->counts();
  const std::uint64_t steps = now.steps - counted_.steps;
  turns_->Count(now.batches - counted_.batches);
  counted_.batches = now.batches;
  counted_.steps = now.steps;
  return channel_->fed ? 0 : channel_->learned_steps.fetch_add(steps) + steps;
}

/// Runs after the steps, which are read with the credit. True when there is more credit.
bool LearnLoop::PublishCredit() {
  const std::uint64_t more = store_->counts().credit - counted_.credit;
  counted_.credit += more;
  channel_->credit.fetch_add(more, std::memory_order_release);
  return more > 0;
}

/// True when it learned from a batch.
bool LearnLoop::LearnAll(bool held_out) {
  bool any = false;
  due_ = false;
  while (TrainingBatch* batch = due_ ? nullptr : store_->Next()) {
    any |= Learn(*batch, held_out);
    due_ = turns_->paused();
  }
  CountLearned();
  return any;
}

std::string LearnLoop::Waiting() const {
  const std::lock_guard lock(mutex_);
  return waiting_;
}

void LearnLoop::SetWaiting(std::string sentence) {
  bool says = false;
  {
    const std::lock_guard lock(mutex_);
    says = !sentence.empty() && counted_.batches > 0 && now_ns_() >= next_waiting_ns_;
    waiting_ = std::move(sentence);
  }
  if (!says) return;
  next_waiting_ns_ = now_ns_() + kBetweenSentencesNs;
  if (callbacks_.on_waiting) callbacks_.on_waiting(waiting_);
}

/// A poll that ends without a batch has waited for long, or is one of many.
std::unique_ptr<TrainingBatch> LearnLoop::AwaitBatch(std::chrono::milliseconds timeout) {
  const bool said = !waiting_.empty();
  const auto first_wait = said ? timeout : std::min(timeout, kShortWait);
  auto batch = turns_->Next(*channel_, first_wait);
  if (batch == nullptr && !said) {
    SetWaiting(store_->Waiting());
    if (timeout > first_wait) batch = turns_->Next(*channel_, timeout - first_wait);
  }
  if (batch != nullptr) SetWaiting("");
  return batch;
}

/// As if the run had never ended or been paused: before anything is inserted.
bool LearnLoop::LearnWhatWasDue() {
  const bool learned = LearnAll(false);
  turns_->Done(false);
  if (learned && callbacks_.wake_ingest) callbacks_.wake_ingest();
  return learned;
}

bool LearnLoop::PollOnce(std::chrono::milliseconds timeout) {
  if (channel_->version.load(std::memory_order_relaxed) == 0) {
    Publish();
    if (callbacks_.wake_ingest) callbacks_.wake_ingest();
    if (due_) return false;
  } else if (due_) {
    if (!turns_->Begin()) return false;
    if (LearnWhatWasDue()) return true;
  }
  const std::int64_t begin_ns = now_ns_();
  auto batch = AwaitBatch(timeout);
  channel_->learner_waited_ns.fetch_add(now_ns_() - begin_ns, std::memory_order_relaxed);
  if (!batch) return false;
  const bool held_out = batch->samples == TrainingBatch::Samples::kHeldOut;
  store_->Insert(std::move(batch));
  if (PublishCredit() && callbacks_.wake_ingest) callbacks_.wake_ingest();
  const bool learned = LearnAll(held_out);
  while (auto empty = store_->Release()) (void)channel_->empty.TryPush(std::move(empty));
  PublishCredit();
  turns_->Done(held_out);
  if (callbacks_.wake_ingest) callbacks_.wake_ingest();
  return learned;
}

}  // namespace murmurate
