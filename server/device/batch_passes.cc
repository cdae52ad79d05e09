#include "server/device/batch_passes.h"

#include <algorithm>
#include <cstring>

#include "server/learn/algorithm.h"
#include "server/learn/batch_planner.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

constexpr std::size_t kBorder = 256;

int Parts(int all, int most) { return (all + most - 1) / most; }

/// The rows of a lane at most: a trajectory and what followed each truncation and its end.
int LongestLane(const TrajectoryLayout& layout) { return layout.length + layout.max_finals + 1; }

std::int32_t SourceOf(const TrainingBatch& batch, const SeenRow& seen) {
  if (seen.row == SeenRow::kPadding) return PassLists::kPadding;
  if (seen.successor == nullptr) return PassLists::kOwn;
  const std::byte* const end = batch.FinalRow(batch.final_row.size());
  if (seen.successor < batch.FinalRow(0) || seen.successor >= end)
    return -static_cast<std::int32_t>(seen.row / batch.length) - 1;
  const auto bytes = static_cast<std::ptrdiff_t>(batch.layout.row_bytes());
  return static_cast<std::int32_t>((seen.successor - batch.FinalRow(0)) / bytes) + 1;
}

}  // namespace

BatchPasses::BatchPasses(const ModelSpec& spec, const AlgorithmSettings& settings, int state_floats)
    : recurrent_(spec.recurrent()),
      prepares_(settings.kind->prepares),
      measures_(settings.target_kl > 0.0 && settings.epochs == 1),
      state_floats_(state_floats),
      batch_steps_(settings.batch_steps),
      slots_(settings.batch_steps / settings.trajectory_length),
      most_finals_(TrajectoryLayout(spec, settings.trajectory_length).max_finals),
      minibatch_(settings.minibatch),
      epochs_(settings.epochs),
      lanes_(LanesOf(spec, settings),
             LongestLane(TrajectoryLayout(spec, settings.trajectory_length)), state_floats) {
  prepare_ = update_ = {1, settings.minibatch};
  burn_in_ = {0, 0};
  if (recurrent_) {
    const int lanes = LanesOf(spec, settings);
    prepare_ = {LongestLane(TrajectoryLayout(spec, settings.trajectory_length)), lanes};
    update_ = {settings.trajectory_length - settings.burn_in, lanes};
    burn_in_ = {settings.burn_in, lanes};
  }
  most_rows_ = std::max({prepare_.rows(), update_.rows(), burn_in_.rows()});
  at_ = PlanLists(prepare_.rows() > update_.rows() ? prepare_ : update_);
  burn_in_at_ = PlanLists(burn_in_);
  pass_bytes_ = (pass_bytes_ + kBorder - 1) / kBorder * kBorder;
  seen_.reserve(static_cast<std::size_t>(std::max(most_rows_, 2 * batch_steps_)));
}

BatchPasses::Offsets BatchPasses::PlanLists(PassShape shape) {
  const auto place = [this](std::size_t bytes) {
    const std::size_t at = pass_bytes_;
    pass_bytes_ += (bytes + sizeof(float) - 1) / sizeof(float) * sizeof(float);
    return at;
  };
  Offsets at{.rows = static_cast<std::size_t>(shape.rows())};
  const std::size_t lanes =
      recurrent_ && shape.steps > 0 ? static_cast<std::size_t>(shape.lanes) : 0;
  at.row = place(at.rows * sizeof(std::int32_t));
  at.source = place(at.rows * sizeof(std::int32_t));
  at.weight = place(at.rows * sizeof(float));
  at.first = place(recurrent_ ? at.rows : 0);
  at.state = place(lanes * static_cast<std::size_t>(state_floats_) * sizeof(float));
  return at;
}

std::size_t BatchPasses::most_bytes() const {
  const int parts = recurrent_ ? Parts(slots_, update_.lanes) : Parts(batch_steps_, minibatch_);
  const int successors = recurrent_ ? 0 : Parts(slots_ * (most_finals_ + 1), minibatch_);
  return BytesOf((prepares_ ? parts + successors : 0) + parts * epochs_ + (measures_ ? parts : 0));
}

PassLists BatchPasses::ListsAt(const std::byte* block, const Offsets& at) const {
  return {block, pass_bytes_, at.row, at.source, at.weight, at.first, at.state};
}

void BatchPasses::Lay(const TrainingBatch& batch, const BatchPlan& plan, std::byte* block) {
  counts_ = {};
  if (plan.rows.empty()) return;
  if (prepares_ && !plan.scores) LayPrepare(batch, plan, block);
  for (const PlannedUpdate& update : plan.updates)
    LayUpdate(batch, plan, update, block + BytesOf(counts_.prepare + counts_.updates++));
  if (!plan.one_pass || !(plan.most_kl > 0.0)) return;
  // The plan's rows are the last of those that the batch is prepared from.
  counts_.measure =
      recurrent_ ? counts_.prepare : Parts(static_cast<int>(plan.rows.size()), minibatch_);
  std::memcpy(block + BytesOf(counts_.prepare + counts_.updates),
              block + BytesOf(counts_.prepare - counts_.measure), BytesOf(counts_.measure));
}

void BatchPasses::LayPrepare(const TrainingBatch& batch, const BatchPlan& plan, std::byte* block) {
  if (recurrent_) {
    const std::span<const int> slots(plan.slots);
    const auto most = static_cast<std::size_t>(prepare_.lanes);
    for (std::size_t begin = 0; begin < slots.size(); begin += most) {
      lanes_.Lay(batch, slots.subspan(begin, std::min(most, slots.size() - begin)), {}, 0,
                 batch.length, true, &seen_);
      LayLanes(batch, at_, prepare_.lanes, block + BytesOf(counts_.prepare++));
    }
    return;
  }
  seen_.clear();
  for (const int slot : plan.slots)
    ForSuccessors(batch, slot, [this](const SeenRow& row) { seen_.push_back(row); });
  counts_.prepare = LayAll(batch, seen_, block);
  seen_.clear();
  for (const std::int32_t row : plan.rows) seen_.push_back({.row = row});
  counts_.prepare += LayAll(batch, seen_, block + BytesOf(counts_.prepare));
}

/// As many passes as the rows need; their number.
int BatchPasses::LayAll(const TrainingBatch& batch, std::span<const SeenRow> rows,
                        std::byte* block) const {
  const auto most = static_cast<std::size_t>(minibatch_);
  int passes = 0;
  for (std::size_t begin = 0; begin < rows.size(); begin += most)
    LayRows(batch, rows.subspan(begin, std::min(most, rows.size() - begin)),
            block + BytesOf(passes++));
  return passes;
}

void BatchPasses::LayUpdate(const TrainingBatch& batch, const BatchPlan& plan,
                            const PlannedUpdate& update, std::byte* pass) {
  const auto order = std::span(plan.order).subspan(update.first, update.count);
  const auto weights = plan.weights.empty()
                           ? std::span<const float>()
                           : std::span(plan.weights).subspan(update.first, update.count);
  if (!recurrent_) {
    seen_.clear();
    for (std::size_t i = 0; i < order.size(); ++i)
      seen_.push_back({.row = order[i], .weight = weights.empty() ? 1.0f : weights[i]});
    return LayRows(batch, seen_, pass);
  }
  if (burn_in_.steps > 0) {
    lanes_.Lay(batch, order, weights, 0, burn_in_.steps, false, &seen_);
    LayLanes(batch, burn_in_at_, burn_in_.lanes, pass);
  }
  lanes_.Lay(batch, order, weights, burn_in_.steps, batch.length, false, &seen_);
  LayLanes(batch, at_, update_.lanes, pass);
}

void BatchPasses::LayRows(const TrainingBatch& batch, std::span<const SeenRow> rows,
                          std::byte* pass) const {
  auto* const row = reinterpret_cast<std::int32_t*>(pass + at_.row);
  auto* const source = reinterpret_cast<std::int32_t*>(pass + at_.source);
  auto* const weight = reinterpret_cast<float*>(pass + at_.weight);
  for (std::size_t i = 0; i < at_.rows; ++i) {
    const SeenRow seen = i < rows.size() ? rows[i] : SeenRow{.weight = 0.0f};
    row[i] = seen.row == SeenRow::kPadding ? rows[0].row : seen.row;
    source[i] = SourceOf(batch, seen);
    weight[i] = seen.weight;
  }
}

/// What `lanes_` laid last, with `lanes` places for each step.
void BatchPasses::LayLanes(const TrainingBatch& batch, const Offsets& at, int lanes,
                           std::byte* pass) const {
  const Sequences& laid = lanes_.sequences();
  auto* const row = reinterpret_cast<std::int32_t*>(pass + at.row);
  auto* const source = reinterpret_cast<std::int32_t*>(pass + at.source);
  auto* const weight = reinterpret_cast<float*>(pass + at.weight);
  auto* const first = reinterpret_cast<std::uint8_t*>(pass + at.first);
  std::fill_n(row, at.rows, seen_.front().row);  // that of the first lane's first step
  std::fill_n(source, at.rows, PassLists::kPadding);
  std::fill_n(weight, at.rows, 0.0f);
  std::fill_n(first, at.rows, std::uint8_t{0});
  for (int i = 0; i < laid.steps * laid.count; ++i) {
    const SeenRow& seen = seen_[static_cast<std::size_t>(i)];
    if (seen.row == SeenRow::kPadding) continue;
    const int to = i / laid.count * lanes + i % laid.count;
    row[to] = seen.row;
    source[to] = SourceOf(batch, seen);
    weight[to] = seen.weight;
    first[to] = laid.first[i];
  }
  auto* const state = reinterpret_cast<float*>(pass + at.state);
  const auto states = static_cast<std::size_t>(state_floats_);
  std::fill_n(state, static_cast<std::size_t>(lanes) * states, 0.0f);
  std::copy_n(laid.state0, static_cast<std::size_t>(laid.count) * states, state);
}

}  // namespace murmurate
