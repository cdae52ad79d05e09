// What learning waits for when a checkpoint of a replay of 1 GB is due: the copy of what it says of
// itself (ReplayStore::Save: where its records lie on the disk, priorities), into the memory of the
// checkpoint before and into fresh memory. Beside it what the thread that writes checkpoints waits
// for (Seal: the disk), and how long a resumed run reads. The first two by the processor time of
// the thread, which waits for nothing there; the others by the clock.
//
//   build/release/bench/bench_replay_checkpoint FOLDER     an empty one, on the disk to be measured
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/measure/limits.h"
#include "server/operate/spare_state.h"
#include "server/replay/replay_store.h"
#include "shared/core/check.h"
#include "shared/model/policy_and_value.h"

namespace murmurate {
namespace {

constexpr double kBytes = 1e9;
constexpr char kSection[] = "experience";

template <typename Call>
double ProcessorSecondsOf(const Call& call) {
  const auto now = [] {
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  const double begin = now();
  call();
  return now() - begin;
}

template <typename Call>
double SecondsOf(const Call& call) {
  const auto begin = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// A prioritized replay of 1 GB.
class Replay {
 public:
  Replay(std::string folder, Space observation)
      : folder_(std::move(folder)),
        model_(PolicyAndValue{.spaces = {std::move(observation), Discrete(4)}, .trunk = {}}),
        layout_(model_, kLength),
        batch_(std::make_unique<TrainingBatch>(layout_, kAgents)),
        seen_(kLength * layout_.row_bytes()),
        next_(layout_.row_bytes()) {
    Open();
  }

  void Open() {
    store_.reset();
    auto made = ReplayStore::Make(Settings(), {layout_, 1, PlainBatchMemory()});
    MURMURATE_CHECK(made.ok(), made.status().message().c_str());
    store_ = *std::move(made);
    const Status kept = store_->KeepIn({folder_, "default", model_});
    MURMURATE_CHECK(kept.ok(), kept.message().c_str());
  }
  void Fill() {
    while (store_->size() + kAgents * kLength <= Settings().capacity) Insert();
  }
  void Insert() {
    std::vector<std::int32_t> action(kLength);
    std::vector<float> numbers(kLength);
    std::vector<std::uint8_t> flags(kLength);
    for (std::uint32_t agent = 0; agent < kAgents; ++agent) {
      TrajectoryView view;
      view.agent = agent;
      view.first_step = first_step_;
      view.steps = kLength;
      view.observation = seen_;
      view.next_observation = next_;
      view.action = action;
      view.log_prob = view.reward = numbers;
      view.flags = flags;
      MURMURATE_CHECK(batch_->Add(view), "zeros are observations");
    }
    first_step_ += kLength;
    store_->Insert(std::move(batch_));
    MURMURATE_CHECK(store_->Next() != nullptr, "the batch");
    store_->Learned({});
    batch_ = store_->Release();
  }
  ReplayStore& store() { return *store_; }

 private:
  static constexpr int kLength = 64, kAgents = 16;

  ReplaySettings Settings() const {
    ReplaySettings settings{.capacity = 1, .priority_exponent = 0.6};
    const auto bytes = [&](std::uint64_t capacity) {
      settings.capacity = capacity;
      return static_cast<double>(ReplayStore::BytesFor(settings, layout_));
    };
    const double row = (bytes(2'000'000) - bytes(1'000'000)) / 1e6;
    settings.capacity = static_cast<std::uint64_t>(kBytes / row);
    settings.learning_starts = settings.capacity;
    return settings;
  }

  const std::string folder_;
  const ModelSpec model_;
  const TrajectoryLayout layout_;
  std::unique_ptr<TrainingBatch> batch_;
  std::vector<std::byte> seen_, next_;
  std::unique_ptr<ReplayStore> store_;
  std::uint64_t first_step_ = 0;
};

void PrintWait(const std::string& name, double seconds, double target) {
  Print({.name = name,
         .unit = "ms",
         .ours = seconds * 1e3,
         .target = target,
         .target_is_ratio = false,
         .smaller_is_better = true});
}

void Measure(const std::string& folder, const std::string& rows, Space observation) {
  Replay replay(folder, std::move(observation));
  replay.Fill();
  SpareState spare;
  double wait = 0, fresh = 0, seal = 0;
  SavedState saved;
  for (int turn = 0; turn < 7; ++turn) {
    replay.Insert();
    SavedState none;
    fresh = std::max(
        fresh, ProcessorSecondsOf([&] { replay.store().Save(StateWriter(&none, kSection)); }));
    SavedState state = spare.Acquire();
    const double waited =
        ProcessorSecondsOf([&] { replay.store().Save(StateWriter(&state, kSection)); });
    if (turn > 0) wait = std::max(wait, waited);
    seal =
        std::max(seal, SecondsOf([&] {
                   replay.store().Seal(StateReader(state, kSection), StateWriter(&state, kSection));
                 }));
    replay.store().Written(StateReader(state, kSection));
    saved = state;
    spare.Release(std::move(state));
  }
  const std::string name = "1 GB of rows of " + rows;
  PrintWait(name + ": learning waits, the longest of 6", wait, 100);
  PrintWait(name + ": the same, fresh memory", fresh, 100);
  PrintWait(name + ": the writing thread waits for the disk", seal, 0);
  const std::uint64_t steps = replay.store().size();
  replay.Open();
  const double load = SecondsOf([&] {
    const Status loaded = replay.store().Load(StateReader(saved, kSection));
    MURMURATE_CHECK(loaded.ok(), loaded.message().c_str());
  });
  MURMURATE_CHECK(replay.store().size() == steps, "all of it is there again");
  PrintWait(name + ": a resumed run reads it", load, 0);
}

}  // namespace
}  // namespace murmurate

int main(int count, char** arguments) {
  if (count != 2) {
    std::fputs("bench_replay_checkpoint FOLDER\n", stderr);
    return 2;
  }
  const std::string folder = arguments[1];
  murmurate::Measure(folder + "/small", "4 floats", murmurate::Box({4}));
  murmurate::Measure(folder + "/large", "28 KB", murmurate::Image({84, 84, 4}));
}
