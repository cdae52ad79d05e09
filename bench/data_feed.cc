// Learning from arrays: how fast the loader shuffles rows into batches against memcpy, and how much
// of the learner's speed is left when it feeds it, against the same learner on a batch it has.
#include "server/data/data_feed.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "bench/limits.h"
#include "server/data/array_source.h"
#include "server/learn/learn_loop.h"
#include "shared/core/clock.h"
#include "shared/core/loop.h"
#include "tests/data/npy_writer.h"

namespace murmurate {
namespace {

constexpr int kLength = 128, kTrajectories = 16, kRows = kLength * kTrajectories;

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

ModelSpec MakeModel(const Spaces& spaces) {
  return {.spaces = spaces,
          .trunk = {{64, Activation::kRelu}, {64, Activation::kRelu}},
          .separate_value = false};
}

AlgorithmSettings Settings() {
  AlgorithmSettings settings;
  settings.name = AlgorithmName::kSupervised;
  settings.trajectory_length = kLength;
  settings.batch_steps = kRows;
  settings.epochs = 1;
  return settings;
}

/// Batches taken and thrown away at once.
double LoaderSecondsPerBatch(const std::shared_ptr<ArraySource>& source, const ModelSpec& spec) {
  auto channel = std::make_shared<ExperienceChannel>(spec, kLength, kTrajectories);
  DataFeed feed(channel, source, {.passes = 1 << 30}, [](Status) {});
  return SecondsPerCall([&] {
    feed.PollOnce(std::chrono::milliseconds(0));
    auto batch = channel->ready.TryPop();
    channel->trajectories_done.fetch_add((*batch)->trajectories.size());
    (void)channel->empty.TryPush(std::move(*batch));
    feed.OnTrained();
  });
}

double AloneSecondsPerBatch(const std::shared_ptr<ArraySource>& source, const ModelSpec& spec) {
  Learner learner(spec, Settings(), 1);
  TrainingBatch batch(TrajectoryLayout(spec, kLength), kTrajectories);
  std::vector<std::uint64_t> items(kRows);
  for (std::size_t i = 0; i < items.size(); ++i) items[i] = i;
  (void)source->Fill(items, &batch);
  batch.samples = TrainingBatch::Samples::kRead;
  const std::int64_t begin = MonotonicNs();
  int count = 0;
  for (; MonotonicNs() - begin < kNanosecondsPerSecond; ++count) {
    (void)learner.Learn(batch, 0);
    (void)learner.TakeSnapshot();
  }
  return static_cast<double>(MonotonicNs() - begin) * 1e-9 / count;
}

struct Fed {
  double seconds = 0, wait_share = 0;
};

Fed FedSecondsPerBatch(const std::shared_ptr<ArraySource>& source, const ModelSpec& spec) {
  auto channel = std::make_shared<ExperienceChannel>(spec, kLength, kTrajectories);
  DataFeed feed(channel, source, {.passes = 1 << 30}, [](Status) {});
  LearnCallbacks callbacks;
  callbacks.on_snapshot = [](std::shared_ptr<const Snapshot>) {};
  callbacks.wake_ingest = [&] { feed.OnTrained(); };
  LearnLoop learn(channel, std::make_unique<Learner>(spec, Settings(), 1), std::move(callbacks));
  Loop loop(
      "mmr-data", [&] { feed.PollOnce(std::chrono::milliseconds(100)); }, [&] { feed.Stop(); });
  for (int i = 0; i < 5; ++i) learn.PollOnce(std::chrono::seconds(10));
  const std::int64_t waited_before = channel->learner_waited_ns;
  const std::int64_t begin = MonotonicNs();
  int count = 0;
  for (; MonotonicNs() - begin < kNanosecondsPerSecond; ++count)
    learn.PollOnce(std::chrono::seconds(10));
  const double ns = static_cast<double>(MonotonicNs() - begin);
  return {ns * 1e-9 / count, static_cast<double>(channel->learner_waited_ns - waited_before) / ns};
}

void Measure(int width) {
  const Files files;
  const auto source = MakeSource(files.folder, 50000, width);
  const ModelSpec spec = MakeModel(source->spaces());
  const double bytes = double{kRows} * (width + 1) * sizeof(float);
  double loader = 1e9, copy = 0, alone = 1e9;
  Fed fed{1e9, 0};
  for (int turn = 0; turn < 3; ++turn) {
    copy = std::max(copy, MeasureCopyBandwidth(static_cast<std::size_t>(bytes)));
    loader = std::min(loader, LoaderSecondsPerBatch(source, spec));
    alone = std::min(alone, AloneSecondsPerBatch(source, spec));
    const Fed now = FedSecondsPerBatch(source, spec);
    if (now.seconds < fed.seconds) fed = now;
  }
  const std::string rows = std::to_string(width) + " floats a row";
  Print({.name = "loader, " + rows,
         .unit = "GB/s",
         .ours = bytes / loader * 1e-9,
         .limit = copy * 1e-9});
  Print({.name = "learner fed by it, " + rows + ", waits " +
                 std::to_string(static_cast<int>(fed.wait_share * 1000) / 10.0).substr(0, 4) + " %",
         .unit = "batches/s",
         .ours = 1.0 / fed.seconds,
         .limit = 1.0 / alone,
         .target = 0.95});
}

}  // namespace
}  // namespace murmurate

int main() {
  for (const int width : {4, 64, 784}) murmurate::Measure(width);
}
