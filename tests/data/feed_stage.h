// A DataFeed over small arrays, and a learning thread played by the test.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "server/data/array_source.h"
#include "server/data/data_feed.h"
#include "shared/model/policy_and_value.h"
#include "tests/data/npy_writer.h"
#include "tests/operate/temporary_folder.h"

namespace murmurate {

inline constexpr auto kSoon = std::chrono::milliseconds(0);

/// `count` samples, each of which holds its own number, in batches of 2 x 4 rows.
class FeedStage : public testing::Test {
 protected:
  void Open(int count, int bad_sample = -1) {
    std::vector<float> x(static_cast<std::size_t>(count));
    std::iota(x.begin(), x.end(), 0.0f);
    if (bad_sample >= 0) x[static_cast<std::size_t>(bad_sample)] = NAN;
    const std::string shape = "(" + std::to_string(count) + ",)";
    WriteNpy<float>(folder_.path() + "/x.npy", "<f4", shape, x);
    WriteNpy<std::int32_t>(folder_.path() + "/y.npy", "<i4", shape,
                           std::vector<std::int32_t>(static_cast<std::size_t>(count)));
    Reopen();
  }
  /// What lies there now.
  void Reopen() {
    auto source =
        ArraySource::Open({{{"", folder_.path() + "/x.npy"}}, {{"", folder_.path() + "/y.npy"}}});
    ASSERT_TRUE(source.ok()) << source.status();
    source_ = std::move(*source);
  }
  void Start(const DataFeedSettings& settings, int trajectories = 2) {
    Start(source_, settings, trajectories);
  }
  void Start(std::shared_ptr<const DataSource> source, const DataFeedSettings& settings,
             int trajectories = 2) {
    channel_ = std::make_shared<ExperienceChannel>(
        PolicyAndValue{.spaces = source->spaces(), .trunk = {}}, 4, trajectories);
    ends_.clear();
    feed_ = std::make_unique<DataFeed>(channel_, std::move(source), settings,
                                       [this](Status status) { ends_.push_back(status); });
  }
  struct Got {
    TrainingBatch::Samples samples;
    std::vector<int> numbers;
    std::uint64_t environment_steps;  ///< when it was taken up
    friend bool operator==(const Got&, const Got&) = default;
  };
  /// As LearnLoop: takes a batch, gives it back, says so.
  std::optional<Got> Train(std::chrono::milliseconds timeout = kSoon) {
    auto batch = channel_->ready.Pop(timeout);
    if (!batch) return std::nullopt;
    Got got{(*batch)->samples, {}, channel_->environment_steps.load()};
    for (int row = 0; row < (*batch)->rows(); ++row)
      if ((*batch)->weight[static_cast<std::size_t>(row)] > 0)
        got.numbers.push_back(
            static_cast<int>((*batch)->observation[static_cast<std::size_t>(row)]));
    (void)channel_->empty.TryPush(std::move(*batch));
    feed_->OnTrained();
    return got;
  }
  std::vector<Got> TrainAll() {
    std::vector<Got> all;
    while (ends_.empty() && feed_->PollOnce(kSoon))
      while (auto got = Train()) all.push_back(std::move(*got));
    return all;
  }

  TemporaryFolder folder_;
  std::shared_ptr<ArraySource> source_;
  std::shared_ptr<ExperienceChannel> channel_;
  std::unique_ptr<DataFeed> feed_;
  std::vector<Status> ends_;
};

}  // namespace murmurate
