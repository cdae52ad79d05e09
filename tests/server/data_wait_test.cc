// perf/data_wait of progress.csv: a learner whose files come when the test says so, by a clock that
// the test moves.
#include <gtest/gtest.h>

#include <condition_variable>
#include <thread>

#include "server/daemon/training_update.h"
#include "server/data/array_source.h"
#include "server/data/data_feed.h"
#include "server/learn/algorithms.h"
#include "server/learn/learn_loop.h"
#include "shared/core/loop.h"
#include "shared/model/policy_and_value.h"
#include "tests/data/npy_writer.h"
#include "tests/operate/temporary_folder.h"

namespace murmurate {
namespace {

/// Reads as many batches as it is let.
class GatedSource : public DataSource {
 public:
  explicit GatedSource(std::unique_ptr<ArraySource> source) : source_(std::move(source)) {}

  void Let(int batches) {
    {
      const std::lock_guard lock(mutex_);
      allowed_ += batches;
    }
    changed_.notify_all();
  }

  const Spaces& spaces() const override { return source_->spaces(); }
  std::uint64_t items() const override { return source_->items(); }
  std::uint64_t steps() const override { return source_->steps(); }
  Status PrepareFor(const ModelSpec& model, int length) override {
    return source_->PrepareFor(model, length);
  }
  std::uint64_t ItemsOf(const TrainingBatch& batch) const override {
    return source_->ItemsOf(batch);
  }
  Status Fill(std::span<const std::uint64_t> items, TrainingBatch* batch) const override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return allowed_ > 0; });
    --allowed_;
    return source_->Fill(items, batch);
  }
  std::vector<DataFile> files() const override { return source_->files(); }
  std::string Description() const override { return source_->Description(); }

 private:
  const std::unique_ptr<ArraySource> source_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  mutable int allowed_ = 0;
};

class DataWait : public testing::Test {
 protected:
  DataWait() {
    WriteNpy<float>(folder_.path() + "/x.npy", "<f4", "(64,)", std::vector<float>(64, 0.5f));
    WriteNpy<std::int32_t>(folder_.path() + "/y.npy", "<i4", "(64,)",
                           std::vector<std::int32_t>(64));
    auto arrays =
        ArraySource::Open({{{"", folder_.path() + "/x.npy"}}, {{"", folder_.path() + "/y.npy"}}});
    source_ = std::make_shared<GatedSource>(*std::move(arrays));
    const PolicyAndValue spec{.spaces = source_->spaces(), .trunk = {}};
    channel_ = std::make_shared<ExperienceChannel>(spec, 4, 2);
    feed_ = std::make_unique<DataFeed>(channel_, source_, DataFeedSettings{}, [](Status) {});
    AlgorithmSettings settings;
    settings.kind = AlgorithmNamed("supervised");
    settings.trajectory_length = 4;
    settings.batch_steps = settings.minibatch = 8;
    LearnCallbacks callbacks;
    callbacks.on_report = [this](const LearnReport& report) {
      progress_.Apply(ToUpdate("default", *channel_, report, {}, clock_ns_));
      clock_ns_ += kNanosecondsPerSecond;  // what training takes
      feed_->OnTrained();
    };
    learn_ = std::make_unique<LearnLoop>(channel_, std::make_unique<Learner>(spec, settings, 1),
                                         std::move(callbacks), [this] {
                                           const std::int64_t now_ns = clock_ns_;
                                           ++reads_;  // only now may the test move it
                                           return now_ns;
                                         });
    clock_ns_ = channel_->since_ns;
    learn_->PollOnce(std::chrono::milliseconds(0));  // the first weights are out
    reads_ = 0;
    reading_ = std::make_unique<Loop>(
        "mmr-data", [this] { feed_->PollOnce(std::chrono::milliseconds(20)); },
        [this] {
          feed_->Stop();
          source_->Let(100);
        });
  }
  /// The learner waits `seconds` for the next batch, then trains on it for a second.
  void TrainAfter(int seconds) {
    const int before = reads_;
    std::thread learner([this] { EXPECT_TRUE(learn_->PollOnce(std::chrono::seconds(60))); });
    while (reads_ == before) std::this_thread::yield();  // it has begun to wait
    clock_ns_ += seconds * kNanosecondsPerSecond;
    source_->Let(1);
    learner.join();
  }
  /// Of a row written now, over what was trained on since the last one.
  double Column() { return progress_.EndRow(clock_ns_).Number(kDataWait).value_or(-1); }

  TemporaryFolder folder_;
  std::shared_ptr<GatedSource> source_;
  std::shared_ptr<ExperienceChannel> channel_;
  std::unique_ptr<DataFeed> feed_;
  Progress progress_{0};
  std::atomic<std::int64_t> clock_ns_{0};
  std::atomic<int> reads_{0};
  std::unique_ptr<LearnLoop> learn_;
  std::unique_ptr<Loop> reading_;  ///< last: its thread uses the rest
};

// A batch says how long was waited for it, and how long the one before it was trained on.
TEST_F(DataWait, IsTheShareOfTheLearnersTimeThatItsFilesMadeItWait) {
  TrainAfter(3);
  TrainAfter(0);
  EXPECT_DOUBLE_EQ(Column(), 0.75);  // 3 s of 3 + 1
  TrainAfter(1);
  EXPECT_DOUBLE_EQ(Column(), 0.5);
}

TEST_F(DataWait, IsNothingWhereFilesAreFasterThanTheLearner) {
  for (int batch = 0; batch < 3; ++batch) TrainAfter(0);
  EXPECT_DOUBLE_EQ(Column(), 0);
}

}  // namespace
}  // namespace murmurate
