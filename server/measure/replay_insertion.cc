#include "server/measure/replay_insertion.h"

#include <time.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "server/replay/mapped_block.h"
#include "server/replay/replay_store.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

double Now() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// Memory as large as a ring, written from its beginning to its end, again and again.
class PlainRing {
 public:
  explicit PlainRing(std::size_t bytes) : block_(bytes) {}
  void Append(const void* from, std::size_t bytes) {
    if (at_ + bytes > block_.bytes().size()) at_ = 0;
    std::memcpy(block_.bytes().data() + at_, from, bytes);
    asm volatile("" : : "r"(block_.bytes().data()) : "memory");
    at_ += bytes;
  }

 private:
  MappedBlock block_;
  std::size_t at_ = 0;
};

}  // namespace

void ReplayPlayers::Fill(TrainingBatch* batch) {
  for (int agent = 0; agent < agents_; ++agent) {
    TrajectoryView view;
    view.agent = static_cast<std::uint32_t>(agent);
    view.first_step = first_step_;
    view.steps = layout_.length;
    view.observation = rows_;
    view.next_observation = std::span(rows_).first(layout_.row_bytes());
    view.frames0 = frames0_;
    view.action = action_;
    view.log_prob = view.reward = numbers_;
    view.flags = flags_;
    MURMURATE_CHECK(batch->Add(view), "zeros are observations");
  }
  first_step_ += static_cast<std::uint64_t>(layout_.length);
}

InsertionTimes MeasureInsertion(const TrajectoryLayout& layout, int agents, std::uint64_t capacity,
                                int rounds) {
  const ReplaySettings settings{
      .capacity = capacity, .minibatch = 1, .learning_starts = capacity, .most_updates = 1};
  auto store = ReplayStore::Make(settings, {layout, 1, PlainBatchMemory()});
  MURMURATE_CHECK(store.ok(), store.status().message().c_str());
  auto batch = std::make_unique<TrainingBatch>(layout, agents);
  ReplayPlayers players(layout, agents);
  PlainRing ring(capacity * layout.row_bytes());
  InsertionTimes best;
  for (int round = 0; round < rounds; ++round) {
    players.Fill(batch.get());
    const double begin = Now();
    ring.Append(batch->observation.data(), batch->observation.size_bytes());
    best.limit = std::min(best.limit, Now() - begin);
    const double insert = Now();
    (*store)->Insert(std::move(batch));
    MURMURATE_CHECK((*store)->Next() != nullptr, "the batch");
    (*store)->Learned({});
    batch = (*store)->Release();
    best.ours = std::min(best.ours, Now() - insert);
  }
  return best;
}

}  // namespace murmurate
