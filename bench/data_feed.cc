// Learning from arrays: how fast the loader shuffles rows into batches against memcpy, and how much
// of the learner's speed is left when it feeds it, against the same learner on a batch it has in
// memory.
#include "server/data/data_feed.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "server/data/array_source.h"
#include "server/learn/algorithms.h"
#include "server/learn/learn_loop.h"
#include "server/measure/limits.h"
#include "shared/core/clock.h"
#include "shared/core/loop.h"
#include "shared/model/policy_and_value.h"
#include "tests/data/npy_writer.h"

namespace murmurate {
namespace {

constexpr int kLength = 128, kTrajectories = 16, kRows = kLength * kTrajectories, kSamples = 50000;

struct Files {
  std::string folder =
      std::filesystem::temp_directory_path() / ("mmr-bench-" + std::to_string(getpid()));
  ~Files() { std::filesystem::remove_all(folder); }
};

std::shared_ptr<ArraySource> MakeSource(const std::string& folder, int samples, int width) {
  std::filesystem::create_directories(folder);
  const std::string n = std::to_string(samples);
  std::vector<float> x(static_cast<std::size_t>(samples) * width, 0.5f);
  WriteNpy<float>(folder + "/x.npy", "<f4", "(" + n + ", " + std::to_string(width) + ")", x);
  std::vector<std::int32_t> y(static_cast<std::size_t>(samples));
  for (int i = 0; i < samples; ++i) y[i] = i % 10;
  WriteNpy<std::int32_t>(folder + "/y.npy", "<i4", "(" + n + ",)", y);
  auto source = ArraySource::Open({{{"", folder + "/x.npy"}}, {{"", folder + "/y.npy"}}});
  return *std::move(source);
}

PolicyAndValue MakeModel(const Spaces& spaces) {
  return {.spaces = spaces,
          .trunk = {{64, Activation::kRelu}, {64, Activation::kRelu}},
          .separate_value = false};
}

AlgorithmSettings Settings() {
  AlgorithmSettings settings;
  settings.kind = AlgorithmNamed("supervised");
  settings.trajectory_length = kLength;
  settings.batch_steps = kRows;
  settings.epochs = 1;
  return settings;
}

/// memcpy of as many bytes as a batch has, the next ones each time, of as many as the arrays have:
/// what the loader cannot beat, however its rows lie.
double CopySecondsPerBatch(std::size_t batch_bytes, std::size_t all_bytes) {
  std::vector<char> from(std::max(all_bytes, batch_bytes), 1), to(batch_bytes);
  std::size_t at = 0;
  return SecondsPerCall([&] {
    std::memcpy(to.data(), from.data() + at, batch_bytes);
    asm volatile("" : : "r"(to.data()) : "memory");
    at = at + 2 * batch_bytes > from.size() ? 0 : at + batch_bytes;
  });
}

/// Batches taken and thrown away at once.
double LoaderSecondsPerBatch(const std::shared_ptr<ArraySource>& source, const ModelSpec& spec) {
  auto channel = std::make_shared<ExperienceChannel>(spec, kLength, kTrajectories);
  DataFeed feed(channel, source, {.passes = 1 << 30}, [](Status) {});
  return SecondsPerCall([&] {
    feed.PollOnce(std::chrono::milliseconds(0));
    auto batch = channel->ready.TryPop();
    channel->credit.fetch_add((*batch)->trajectories.size());
    (void)channel->empty.TryPush(std::move(*batch));
    feed.OnTrained();
  });
}

/// A learner that has a batch and learns from it again and again.
class Alone {
 public:
  Alone(const ArraySource& source, const ModelSpec& spec)
      : batch_(TrajectoryLayout(spec, kLength), kTrajectories), learner_(spec, Settings(), 1) {
    std::vector<std::uint64_t> items(kRows);
    for (std::size_t i = 0; i < items.size(); ++i) items[i] = i;
    (void)source.Fill(items, &batch_);
    batch_.samples = TrainingBatch::Samples::kRead;
  }
  /// Seconds a batch of `count`, by the wall's clock.
  double Train(int count) {
    const std::int64_t begin = MonotonicNs();
    for (int i = 0; i < count; ++i) {
      (void)learner_.Learn(batch_, 0);
      (void)learner_.MakeSnapshot();
    }
    return static_cast<double>(MonotonicNs() - begin) * 1e-9 / count;
  }

 private:
  TrainingBatch batch_;
  Learner learner_;
};

/// The same, with all that a run has between it and its files.
class Fed {
 public:
  Fed(const std::shared_ptr<ArraySource>& source, const ModelSpec& spec)
      : channel_(std::make_shared<ExperienceChannel>(spec, kLength, kTrajectories)),
        feed_(channel_, source, {.passes = 1 << 30}, [](Status) {}) {
    LearnCallbacks callbacks;
    callbacks.on_snapshot = [](std::shared_ptr<const Snapshot>) {};
    callbacks.on_report = [this](const LearnReport&) { feed_.OnTrained(); };
    learn_ = std::make_unique<LearnLoop>(channel_, std::make_unique<Learner>(spec, Settings(), 1),
                                         std::move(callbacks));
    loop_ = std::make_unique<Loop>(
        "mmr-data", [this] { feed_.PollOnce(std::chrono::milliseconds(100)); },
        [this] { feed_.Stop(); });
  }
  double Train(int count) {
    const std::int64_t waited = channel_->learner_waited_ns, begin = MonotonicNs();
    for (int i = 0; i < count; ++i) learn_->PollOnce(std::chrono::seconds(10));
    const double ns = static_cast<double>(MonotonicNs() - begin);
    wait_share_ = static_cast<double>(channel_->learner_waited_ns - waited) / ns;
    return ns * 1e-9 / count;
  }
  double wait_share() const { return wait_share_; }  ///< of the last Train

 private:
  std::shared_ptr<ExperienceChannel> channel_;
  DataFeed feed_;
  double wait_share_ = 0;
  std::unique_ptr<LearnLoop> learn_;
  std::unique_ptr<Loop> loop_;
};

struct Trained {
  double fed = 1e9, alone = 1e9;  ///< seconds a batch, the shortest round
  double wait_share = 0;          ///< in that round
  double median = 0;              ///< of alone / fed, round by round
};

/// In turns, in rounds so short that some of them have both cores to themselves.
Trained MeasureTraining(const std::shared_ptr<ArraySource>& source, const ModelSpec& spec) {
  Fed fed(source, spec);
  Alone alone(*source, spec);
  const int count = std::max(4, static_cast<int>(0.04 / alone.Train(4)));
  (void)fed.Train(count);
  Trained best;
  std::vector<double> ratios;
  for (int round = 0; round < 40; ++round) {
    const double without = alone.Train(count), with = fed.Train(count);
    ratios.push_back(without / with);
    best.alone = std::min(best.alone, without);
    if (with >= best.fed) continue;
    best.fed = with;
    best.wait_share = fed.wait_share();
  }
  std::nth_element(ratios.begin(), ratios.begin() + 20, ratios.end());
  best.median = ratios[20];
  return best;
}

void Measure(int width) {
  const Files files;
  const auto source = MakeSource(files.folder, kSamples, width);
  const PolicyAndValue spec = MakeModel(source->spaces());
  const std::size_t row = (static_cast<std::size_t>(width) + 1) * sizeof(float);
  const double bytes = static_cast<double>(kRows * row);
  double loader = 1e9, copy = 1e9;
  for (int turn = 0; turn < 3; ++turn) {
    copy = std::min(copy, CopySecondsPerBatch(kRows * row, kSamples * row));
    loader = std::min(loader, LoaderSecondsPerBatch(source, spec));
  }
  const Trained trained = MeasureTraining(source, spec);
  const std::string rows = std::to_string(width) + " floats a row";
  Print({.name = "loader, " + rows,
         .unit = "GB/s",
         .ours = bytes / loader * 1e-9,
         .limit = bytes / copy * 1e-9});
  char more[80];
  std::snprintf(more, sizeof more, " (waits %.1f %%, median round %.2f)", 100 * trained.wait_share,
                trained.median);
  Print({.name = "learner fed by it, " + rows + more,
         .unit = "batches/s",
         .ours = 1.0 / trained.fed,
         .limit = 1.0 / trained.alone,
         .target = 0.95});
}

}  // namespace
}  // namespace murmurate

int main() {
  for (const int width : {4, 64, 784}) murmurate::Measure(width);
}
