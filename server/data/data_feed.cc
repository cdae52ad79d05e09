#include "server/data/data_feed.h"

#include <algorithm>
#include <utility>

#include "shared/core/check.h"

namespace murmurate {
namespace {

std::uint64_t Pieces(std::uint64_t items, std::uint64_t most) { return (items + most - 1) / most; }

}  // namespace

DataFeed::DataFeed(std::shared_ptr<ExperienceChannel> channel,
                   std::shared_ptr<const DataSource> source, const DataFeedSettings& settings,
                   std::function<void(Status)> on_end)
    : channel_(std::move(channel)),
      source_(std::move(source)),
      settings_(settings),
      on_end_(std::move(on_end)),
      scored_(source_->scored()) {
  MURMURATE_CHECK(!scored_ || settings.holdout <= 0.0, "one way to hold out");
  batch_items_ = source_->ItemsOf(TrainingBatch(channel_->layout, channel_->batch_trajectories));
  Arrange(source_->blocks());
  MURMURATE_CHECK(learned_items() > 0 && settings.passes >= 1, "nothing to learn from");
}

void DataFeed::Arrange(const ReadBlocks& blocks) {
  ahead_.reset();
  order_ = std::make_unique<ItemOrder>(source_->items(), settings_.holdout, settings_.seed,
                                       settings_.part, blocks);
  ahead_ = std::make_unique<ReadAhead>(*order_, *source_, scored_, settings_.passes);
  training_turns_ = Pieces(order_->learned(), batch_items_);
  pass_turns_ = training_turns_ + Pieces(held_out_items(), batch_items_);
  turns_ = pass_turns_ * static_cast<std::uint64_t>(settings_.passes);
}

std::uint64_t DataFeed::LearnedItems(const DataSource& source, double share) {
  return source.items() -
         (source.scored() ? 0 : ItemOrder::HeldOut(source.items(), share, source.blocks()));
}

DataFeed::Turn DataFeed::TurnAt(std::uint64_t number) const {
  Turn turn;
  turn.pass = number / pass_turns_;
  const std::uint64_t piece = number % pass_turns_;
  turn.held_out = piece >= training_turns_;
  const std::uint64_t items = turn.held_out ? held_out_items() : order_->learned();
  turn.first = (turn.held_out ? piece - training_turns_ : piece) * batch_items_;
  turn.count = std::min(batch_items_, items - turn.first);
  return turn;
}

Status DataFeed::Fill(const Turn& turn, std::vector<std::uint64_t>& items,
                      TrainingBatch* batch) const {
  const bool apart = turn.held_out && scored_;
  const DataSource& source = apart ? *scored_ : *source_;
  items.clear();
  if (apart) {
    for (std::uint64_t i = turn.first; i < turn.first + turn.count; ++i) items.push_back(i);
  } else if (turn.held_out) {
    order_->AppendHeldOut(turn.first, turn.count, &items);
  } else {
    order_->AppendLearned(turn.pass, turn.first, turn.count, &items);
  }
  if (order_->blocks().group == 0)
    for (const std::uint64_t item : items) source.BeginToRead(item, 1);
  batch->Clear();
  batch->samples = turn.held_out ? TrainingBatch::Samples::kHeldOut : TrainingBatch::Samples::kRead;
  return source.Fill(items, batch);
}

void DataFeed::BeginToRead(std::uint64_t number, const Turn& turn) const {
  const std::uint64_t learned = order_->learned();
  const std::uint64_t at =
      turn.pass * (learned + held_out_items()) + (turn.held_out ? learned : 0) + turn.first;
  if (number == first_turn_) ahead_->Begin(at);
  ahead_->Before(at, turn.count);
}

bool DataFeed::PollOnce(std::chrono::milliseconds timeout) {
  auto batch = channel_->empty.Pop(timeout);
  if (!batch) return false;
  std::unique_lock lock(mutex_);
  if (stopped_ || next_turn_ >= turns_) {
    lock.unlock();
    (void)channel_->empty.TryPush(std::move(*batch));
    lock.lock();
    turned_.wait_for(lock, timeout, [this] { return stopped_; });
    return false;
  }
  const std::uint64_t number = next_turn_++;
  std::vector<std::uint64_t> items;
  if (!spare_items_.empty()) {
    items = std::move(spare_items_.back());
    spare_items_.pop_back();
  }
  lock.unlock();
  items.reserve(batch_items_);
  const Turn turn = TurnAt(number);
  BeginToRead(number, turn);
  Status filled = Fill(turn, items, batch->get());
  HandOver(number, turn, *std::move(batch), std::move(filled));
  lock.lock();
  spare_items_.push_back(std::move(items));
  return true;
}

void DataFeed::HandOver(std::uint64_t number, const Turn& turn,
                        std::unique_ptr<TrainingBatch> batch, Status filled) {
  {
    std::unique_lock lock(mutex_);
    turned_.wait(lock, [&] { return stopped_ || handed_over_ == number; });
    // guard: FeedStateTest.ThreadsStopAtTheSameBatchAsOne: a batch that another thread had begun
    //   behind the last one is not handed over
    if (stopped_ || number >= turns_) return;
    if (filled.ok()) {
      for (const BatchTrajectory& trajectory : batch->trajectories)
        steps_ += turn.held_out ? 0 : static_cast<std::uint64_t>(trajectory.steps);
      sent_.push_back(steps_);
      ++handed_over_;
      if (steps_ >= settings_.most_steps) turns_ = handed_over_;
      (void)channel_->ready.TryPush(std::move(batch));
    }
  }
  turned_.notify_all();
  if (!filled.ok()) End(std::move(filled));
}

void DataFeed::OnTrained() {
  bool over = false;
  {
    const std::lock_guard lock(mutex_);
    channel_->environment_steps.store(sent_.front(), std::memory_order_relaxed);
    sent_.pop_front();
    ++trained_;
    over = handed_over_ == turns_ && sent_.empty();
  }
  if (over) End({});
}

void DataFeed::End(Status status) {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    if (std::exchange(ended_, true)) return;
  }
  turned_.notify_all();
  on_end_(std::move(status));
}

void DataFeed::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  turned_.notify_all();
}

}  // namespace murmurate
