// Replay: what it costs to keep steps and to sample them, beside what memory allows.
//
//   insert     a batch of trajectories from ReplayStore::Insert to Release; limit: memcpy of the
//              observations from the batch into as large a ring
//   priorities draw of 512 of 1,000,000 rows and their new priorities
//   gather     64 windows of one step of 84 x 84 pixels in stacks of 4, copied from random places
//              into a batch: four frames and the next; limit: memcpy of 64 x 4 frames from random
//              places
//   stack      the same batch, as a model sees it: four frames a pixel
//
// All by the processor time of this thread, the shortest of many rounds.
//   build/release/bench/bench_replay [rounds]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "server/measure/limits.h"
#include "server/measure/replay_insertion.h"
#include "server/replay/priorities.h"
#include "server/replay/replay_store.h"
#include "shared/core/check.h"
#include "shared/core/random.h"
#include "shared/model/policy_and_value.h"
#include "shared/trajectory/frame_stack.h"

namespace murmurate {
namespace {

PolicyAndValue Model(Space observation, int stack) {
  PolicyAndValue model{.spaces = {std::move(observation), Discrete(4)}, .trunk = {}};
  if (stack > 1) model.encoders = {InputEncoder{.input = "", .stack = stack, .layers = {}}};
  return model;
}

void InsertSmallRows(int rounds) {
  const TrajectoryLayout layout(Model(Box({4}), 1), 128);
  const int agents = 16;
  const double rows = 128.0 * agents;
  const InsertionTimes best = MeasureInsertion(layout, agents, 100'000, 10 * rounds);
  Print({.name = "insert rows of 4 floats",
         .unit = "rows/s",
         .ours = rows / best.ours,
         .limit = rows / best.limit,
         .target = 10e6,
         .target_is_ratio = false});
}

void InsertLargeRows(int rounds) {
  const TrajectoryLayout layout(Model(Image({84, 84, 4}), 1), 32);
  const int agents = 16;
  const double bytes = 32.0 * agents * static_cast<double>(layout.row_bytes());
  const InsertionTimes best = MeasureInsertion(layout, agents, 8192, rounds);
  Print({.name = "insert rows of 28 KB",
         .unit = "GB/s",
         .ours = 1e-9 * bytes / best.ours,
         .limit = 1e-9 * bytes / best.limit,
         .target = 0.5});
}

void SamplePriorities(int rounds) {
  const std::size_t leaves = 1'000'000, batch = 512;
  const ReplaySettings settings{.capacity = leaves, .priority_exponent = 0.6};
  BlockCursor measure;
  (void)Priorities(settings, measure);
  MappedBlock block(measure.used());
  BlockCursor cursor(block.bytes());
  Priorities priorities(settings, cursor);
  Random random(1);
  for (std::size_t place = 0; place < leaves; ++place) {
    priorities.Begin(place);
    priorities.Set(place, random.Uniform());
    priorities.Open(place);
  }
  std::vector<std::size_t> places(batch);
  std::vector<float> weights(batch), errors(batch);
  const auto draw = [&] { priorities.Draw(&random, places, weights); };
  const double drawn = SecondsPerCall(draw, rounds, 1e-3);
  const double all = SecondsPerCall(
      [&] {
        draw();
        for (std::size_t i = 0; i < batch; ++i) priorities.Set(places[i], 0.5f + 0.5f * weights[i]);
      },
      rounds, 1e-3);
  Print({.name = "draw of 1,000,000 priorities", .unit = "/s", .ours = batch / drawn});
  Print({.name = "draw and update of 1,000,000 priorities",
         .unit = "/s",
         .ours = batch / all,
         .target = 3e6,
         .target_is_ratio = false});
}

/// A store of pixels, full, with 64 windows a batch.
class PixelReplay {
 public:
  static constexpr int kSamples = 64, kStack = 4;

  PixelReplay()
      : model_(Model(Image({84, 84, 1}), kStack)),
        layout_(model_, 32),
        store_(Settings(), {layout_, 1, PlainBatchMemory()}) {
    auto batch = std::make_unique<TrainingBatch>(layout_, 16);
    ReplayPlayers players(layout_, 16);
    for (int i = 0; i < 40; ++i) {
      players.Fill(batch.get());
      store_.Insert(std::move(batch));
      (void)store_.Next();
      store_.Learned({});
      batch = store_.Release();
    }
  }
  TrainingBatch* Next() {
    TrainingBatch* const batch = store_.Next();
    store_.Learned({});
    return batch;
  }
  const ModelSpec& model() const { return model_; }
  const TrajectoryLayout& layout() const { return layout_; }

 private:
  static ReplaySettings Settings() {
    return {.capacity = 16'384,
            .minibatch = kSamples,
            .samples_per_insert = 1e6,
            .learning_starts = 1000,
            .most_updates = 1};
  }
  const ModelSpec model_;
  const TrajectoryLayout layout_;
  ReplayStore store_;
};

void GatherStacks(int rounds) {
  PixelReplay replay;
  const std::size_t row = replay.layout().row_bytes(), stack = PixelReplay::kStack * row;
  const MappedBlock ring(16'384 * row);
  std::vector<char> to(PixelReplay::kSamples * stack);
  Random random(2);
  const double copied = SecondsPerCall(
      [&] {
        for (std::size_t i = 0; i < PixelReplay::kSamples; ++i) {
          const std::size_t from = random.UniformInt(16'384 - PixelReplay::kStack);
          std::memcpy(to.data() + i * stack, ring.bytes().data() + from * row, stack);
        }
        asm volatile("" : : "r"(to.data()) : "memory");
      },
      rounds, 1e-3);
  const double gathered = SecondsPerCall([&] { (void)replay.Next(); }, rounds, 1e-3);
  const TrainingBatch& batch = *replay.Next();
  const FrameStack frames(replay.model());
  std::vector<const std::byte*> history(PixelReplay::kStack);
  const double stacked = SecondsPerCall(
      [&] {
        for (int i = 0; i < PixelReplay::kSamples; ++i) {
          batch.History(i, history);
          frames.Assemble(history, reinterpret_cast<std::byte*>(to.data() + i * stack));
        }
      },
      rounds, 1e-3);
  Print({.name = "gather of 64 stacks of 4 x 84 x 84",
         .unit = "us",
         .ours = 1e6 * gathered,
         .limit = 1e6 * copied,
         .target = 1.5,
         .smaller_is_better = true});
  Print({.name = "their frames into stacks",
         .unit = "us",
         .ours = 1e6 * stacked,
         .limit = 1e6 * copied});
}

void Run(int rounds) {
  InsertSmallRows(rounds);
  InsertLargeRows(rounds);
  SamplePriorities(rounds);
  GatherStacks(rounds);
}

}  // namespace
}  // namespace murmurate

int main(int argc, char** argv) {
  murmurate::Run(argc > 1 ? std::atoi(argv[1]) : 60);
  return 0;
}
