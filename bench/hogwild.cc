// Threads that step one block of parameters (rule = "hogwild"): how much faster two learn than one,
// and than one with its parameters to itself, on the network of
// examples/distributed/digits-hogwild.toml. The limit: two learners that share nothing, whose
// processors share caches and memory all the same.
#include "server/parameters/hogwild.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "server/data/array_source.h"
#include "server/learn/algorithms.h"
#include "server/learn/learner.h"
#include "server/measure/limits.h"
#include "server/parameters/hogwild_store.h"
#include "shared/core/clock.h"
#include "shared/core/random.h"
#include "shared/model/policy_and_value.h"
#include "tests/data/npy_writer.h"

namespace murmurate {
namespace {

constexpr int kLength = 64, kTrajectories = 8, kRows = kLength * kTrajectories, kSamples = 5400;
constexpr int kRounds = 41;
constexpr std::int64_t kRoundNs = 25 * kNanosecondsPerMillisecond;

struct Files {
  std::string folder =
      std::filesystem::temp_directory_path() / ("mmr-bench-" + std::to_string(getpid()));
  ~Files() { std::filesystem::remove_all(folder); }
};

std::shared_ptr<ArraySource> MakeSource(const std::string& folder) {
  std::filesystem::create_directories(folder);
  const std::string n = std::to_string(kSamples);
  Random random(1);
  std::vector<std::uint8_t> x(std::size_t{kSamples} * 784);
  std::vector<std::int64_t> y(kSamples);
  for (std::uint8_t& pixel : x) pixel = static_cast<std::uint8_t>(random.UniformInt(256));
  for (int i = 0; i < kSamples; ++i) y[static_cast<std::size_t>(i)] = i % 10;
  WriteNpy<std::uint8_t>(folder + "/x.npy", "|u1", "(" + n + ", 784)", x);
  WriteNpy<std::int64_t>(folder + "/y.npy", "<i8", "(" + n + ",)", y);
  return *ArraySource::Open({{{"", folder + "/x.npy"}}, {{"", folder + "/y.npy"}}});
}

AlgorithmSettings Settings(int minibatch) {
  AlgorithmSettings settings;
  settings.kind = AlgorithmNamed("supervised");
  settings.optimizer = OptimizerSettings::Name::kSgd;
  settings.trajectory_length = kLength;
  settings.batch_steps = kRows;
  settings.minibatch = minibatch;
  settings.epochs = 1;
  settings.learning_rate = 1e-6;  // the same work at every call
  return settings;
}

/// Learners, each with a batch and a thread of its own.
class Team {
 public:
  Team(const ArraySource& source, std::vector<std::unique_ptr<Learner>> learners)
      : learners_(std::move(learners)) {
    for (std::size_t i = 0; i < learners_.size(); ++i) {
      batches_.push_back(std::make_unique<TrainingBatch>(
          TrajectoryLayout(learners_[i]->spec(), kLength), kTrajectories));
      std::vector<std::uint64_t> items;
      for (std::uint64_t item = 0; item < kRows; ++item) items.push_back(i * kRows + item);
      (void)source.Fill(items, batches_[i].get());
      batches_[i]->samples = TrainingBatch::Samples::kRead;
    }
  }

  /// Rows a second of all of them together.
  double Round() {
    std::vector<double> rates(learners_.size());
    std::latch ready(static_cast<std::ptrdiff_t>(learners_.size()));
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < learners_.size(); ++i) {
      threads.emplace_back([&, i] {
        ready.arrive_and_wait();
        const std::int64_t begin = MonotonicNs();
        std::int64_t now = begin;
        for (int count = 1; now - begin < kRoundNs; ++count) {
          (void)learners_[i]->Learn(*batches_[i], 0);
          now = MonotonicNs();
          rates[i] = count * static_cast<double>(kRows) / static_cast<double>(now - begin) * 1e9;
        }
      });
    }
    double sum = 0;
    for (std::size_t i = 0; i < threads.size(); ++i) {
      threads[i].join();
      sum += rates[i];
    }
    return sum;
  }

 private:
  std::vector<std::unique_ptr<Learner>> learners_;
  std::vector<std::unique_ptr<TrainingBatch>> batches_;
};

Team Apart(const ArraySource& source, const ModelSpec& spec, int minibatch, int threads) {
  std::vector<std::unique_ptr<Learner>> learners;
  for (int i = 0; i < threads; ++i)
    learners.push_back(std::make_unique<Learner>(spec, Settings(minibatch), 1));
  return {source, std::move(learners)};
}

Team Together(const ArraySource& source, const ModelSpec& spec, int minibatch,
              const HogwildSettings& hogwild) {
  const AlgorithmSettings settings = Settings(minibatch);
  std::vector<std::unique_ptr<Learner>> learners;
  learners.push_back(std::make_unique<Learner>(
      spec, settings, 1, Initialization{},
      std::make_unique<HogwildStore>(hogwild, spec, settings.max_grad_norm)));
  for (int i = 1; i < hogwild.threads; ++i) learners.push_back(learners[0]->SharedReplica(i + 1));
  return {source, std::move(learners)};
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + kRounds / 2, values.end());
  return values[kRounds / 2];
}

void Measure(const ArraySource& source, const ModelSpec& spec, int minibatch) {
  enum : std::size_t { kAlone, kApart, kOne, kTwo, kLocking, kTeams };
  Team teams[kTeams] = {Apart(source, spec, minibatch, 1), Apart(source, spec, minibatch, 2),
                        Together(source, spec, minibatch, {1, false}),
                        Together(source, spec, minibatch, {2, false}),
                        Together(source, spec, minibatch, {2, true})};
  const char* const names[kTeams] = {"one learner, parameters of its own", "two that share nothing",
                                     "hogwild, one thread", "hogwild, two threads",
                                     "hogwild, two threads, locking"};
  std::vector<double> rates[kTeams];
  for (Team& team : teams) (void)team.Round();
  for (int round = 0; round < kRounds; ++round)  // in turns
    for (std::size_t i = 0; i < kTeams; ++i) rates[i].push_back(teams[i].Round());
  std::printf("784-64-10, minibatch %d, the best (median) of %d rounds, thousand rows/s:\n",
              minibatch, kRounds);
  double best[kTeams];
  for (std::size_t i = 0; i < kTeams; ++i) {
    best[i] = *std::max_element(rates[i].begin(), rates[i].end());
    std::printf("  %-36s %6.0f (%.0f)\n", names[i], best[i] * 1e-3, Median(rates[i]) * 1e-3);
  }
  // Of the best rounds: those that had both processors to themselves.
  const double limit = best[kApart] / best[kAlone];
  Print({.name = "  two threads : one",
         .unit = "x",
         .ours = best[kTwo] / best[kOne],
         .limit = limit,
         .target = 1.8,
         .target_is_ratio = false});
  Print({.name = "  two threads : one learner, parameters of its own",
         .unit = "x",
         .ours = best[kTwo] / best[kAlone],
         .limit = limit});
  Print({.name = "  two threads, locking : one",
         .unit = "x",
         .ours = best[kLocking] / best[kOne],
         .limit = limit});
}

/// Of the store alone, without gradients: what an add to each parameter costs.
void MeasureSteps() {
  constexpr std::size_t kCount = 50'896;
  const std::vector<float> gradient(kCount, 1e-9f);
  std::vector<float> seen(kCount);
  HogwildParameters shared(gradient, 1, false);
  std::vector<float> alone(gradient);
  const double ours = SecondsPerCall([&] { shared.Step(0, 0.1f, 1.0f, gradient, seen); });
  const double atomics = SecondsPerCall([&] {
    for (std::size_t i = 0; i < kCount; ++i)
      std::atomic_ref(alone[i]).fetch_sub(0.1f * gradient[i], std::memory_order_relaxed);
  });
  Print({.name = "one step of 50,896 parameters (limit: an atomic add for each)",
         .unit = "us",
         .ours = ours * 1e6,
         .limit = atomics * 1e6});
}

}  // namespace
}  // namespace murmurate

int main() {
  using namespace murmurate;
  const Files files;
  const auto source = MakeSource(files.folder);
  const PolicyAndValue spec{
      .spaces = source->spaces(), .trunk = {{64, Activation::kTanh}}, .separate_value = false};
  for (const int minibatch : {64, 128, 256}) Measure(*source, spec, minibatch);
  MeasureSteps();
}
