#include "server/device/replay_passes.h"

#include <algorithm>
#include <cstring>

#include "server/device/device_control.h"
#include "server/learn/window_return.h"
#include "server/replay/replay_rows.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

constexpr std::size_t kBorder = 256;
/// The second half of a pass's rows begins on a border of 16 bytes for every input.
constexpr int kPlaces = 16;

}  // namespace

ReplayPasses::ReplayPasses(const ModelSpec& spec, const AlgorithmSettings& settings, int noise,
                           DeviceMemory* memory)
    : most_(settings.replay.most_updates),
      steps_(settings.replay.minibatch),
      rows_((steps_ + kPlaces - 1) / kPlaces * kPlaces),
      n_step_(settings.n_step),
      gamma_(settings.gamma),
      words_(static_cast<std::size_t>(ActionLayout(spec.spaces.action, spec.continuous).words())),
      mask_bytes_(
          static_cast<std::size_t>(ActionLayout(spec.spaces.action, spec.continuous).mask_bytes())),
      row_bytes_(TrajectoryLayout(spec, settings.trajectory_length).row_bytes()),
      frames_(static_cast<std::size_t>(TrajectoryLayout(spec, settings.trajectory_length).frames)),
      sent_bytes_(settings.replay.memory == RowMemory::kDevice ? sizeof(std::uint32_t)
                                                               : row_bytes_),
      history_(frames_ + 2) {
  const auto rows = static_cast<std::size_t>(rows_), all = all_rows();
  at_.head_at = PlanList(sizeof(ReplayHead));
  at_.rows.row_at = PlanList(2 * rows * sizeof(std::int32_t));
  at_.rows.source_at = PlanList(2 * rows * sizeof(std::int32_t));
  at_.action_at = PlanList(rows * words_ * sizeof(std::int32_t));
  at_.mask_at = PlanList(rows * mask_bytes_);
  at_.reward_at = PlanList(rows * sizeof(float));
  at_.discount_at = PlanList(rows * sizeof(float));
  at_.weight_at = PlanList(rows * sizeof(float));
  noise_at_ = PlanList(2 * rows * static_cast<std::size_t>(noise) * sizeof(float));
  at_.rows.pass_bytes = (at_.rows.pass_bytes + kBorder - 1) / kBorder * kBorder;
  const auto plan = [&](std::size_t bytes) {
    return memory->Plan<std::byte>(MemoryPurpose::kBatches, bytes);
  };
  lists_ = plan(static_cast<std::size_t>(most_) * at_.rows.pass_bytes);
  observation_ = plan(all * row_bytes_);
  frames0_ = plan(all * frames_ * row_bytes_);
  flags_ = memory->Plan<std::uint8_t>(MemoryPurpose::kBatches, all);
  if (settings.replay.memory != RowMemory::kDevice) return;
  names_ = memory->Plan<std::uint32_t>(MemoryPurpose::kBatches, all);
  frame_names_ = memory->Plan<std::uint32_t>(MemoryPurpose::kBatches, all * frames_);
  const TrajectoryLayout layout(spec, settings.trajectory_length);
  kept_ = std::make_unique<MirroredRows>(ReplayRows::PlacesFor(layout, settings.replay.capacity),
                                         row_bytes_, memory);
}

std::size_t ReplayPasses::PlanList(std::size_t bytes) {
  const std::size_t at = at_.rows.pass_bytes;
  at_.rows.pass_bytes += (bytes + 15) / 16 * 16;
  return at;
}

Status ReplayPasses::Start(Device* device) {
  pinned_ = std::make_unique<PinnedBlock>(device,
                                          lists_.size() + all_rows() * (1 + frames_) * sent_bytes_);
  if (pinned_->data() == nullptr) return NoPinnedMemory();
  device_ = device;
  device->ClearMemory(Stream::kMain, flags_.data(), flags_.bytes());
  return kept_ == nullptr ? Status() : kept_->Start(device);
}

void ReplayPasses::Update(const TrainingBatch& batch) {
  MURMURATE_CHECK((batch.kept != nullptr) == keeps_rows(),
                  "rows or their names, as it was planned");
  if (kept_ != nullptr) kept_->Update(batch.kept);
}

void ReplayPasses::Lay(int pass, const TrainingBatch& batch, std::span<const std::int32_t> rows,
                       float target_part) {
  MURMURATE_CHECK(!rows.empty() && rows.size() <= static_cast<std::size_t>(steps_) && pass < most_,
                  "the steps of a pass");
  std::memset(HostList<std::byte>(pass, 0), 0, at_.rows.pass_bytes);
  *HostList<ReplayHead>(pass, at_.head_at) = {static_cast<std::int32_t>(rows.size()), target_part};
  for (int place = 0; place < rows_; ++place) {
    if (place < static_cast<int>(rows.size())) {
      LayStep(pass, place, batch, rows[static_cast<std::size_t>(place)]);
      continue;
    }
    LayRow(pass, place, batch, {});
    LayRow(pass, rows_ + place, batch, {});
  }
}

void ReplayPasses::LayStep(int pass, int place, const TrainingBatch& batch, std::int32_t row) {
  const WindowReturn found = ReturnOf(batch, row, n_step_, gamma_);
  LayRow(pass, place, batch, {.row = row});
  LayRow(pass, rows_ + place, batch, found.end);
  const auto at = static_cast<std::size_t>(row), to = static_cast<std::size_t>(place);
  std::copy_n(batch.action.data() + at * words_, words_,
              HostList<std::int32_t>(pass, at_.action_at) + to * words_);
  LayMask(pass, place, batch, found.end);
  HostList<float>(pass, at_.reward_at)[to] = static_cast<float>(found.reward);
  HostList<float>(pass, at_.discount_at)[to] = found.discount;
  HostList<float>(pass, at_.weight_at)[to] = batch.weight[at];
}

/// Only a row of the batch has a mask.
void ReplayPasses::LayMask(int pass, int place, const TrainingBatch& batch,
                           const SeenRow& end) const {
  std::uint8_t* const to =
      HostList<std::uint8_t>(pass, at_.mask_at) + static_cast<std::size_t>(place) * mask_bytes_;
  if (batch.masked && end.row != SeenRow::kPadding && end.successor == nullptr)
    std::copy_n(&batch.mask[static_cast<std::size_t>(end.row) * mask_bytes_], mask_bytes_, to);
  else
    std::fill_n(to, mask_bytes_, std::uint8_t{1});
}

/// A row that the networks see, with the frames of before it, the oldest first.
void ReplayPasses::LayRow(int pass, int place, const TrainingBatch& batch, const SeenRow& seen) {
  const std::size_t to = RowOf(pass, place);
  HostList<std::int32_t>(pass, at_.rows.row_at)[place] = static_cast<std::int32_t>(to);
  const bool padding = seen.row == SeenRow::kPadding;
  HostList<std::int32_t>(pass, at_.rows.source_at)[place] =
      padding ? PassLists::kPadding : PassLists::kOwn;
  std::byte* const observation = pinned_->data() + lists_.size();
  std::byte* const frames = observation + all_rows() * sent_bytes_;
  if (padding) {  // a name that means a row
    std::memset(observation + to * sent_bytes_, 0, sent_bytes_);
    std::memset(frames + to * frames_ * sent_bytes_, 0, frames_ * sent_bytes_);
    return;
  }
  const std::span<const std::byte*> rows(history_);
  rows[0] = seen.successor;
  batch.History(seen.row, rows.subspan(1));
  const std::size_t newest = seen.successor != nullptr ? 0 : 1;
  std::memcpy(observation + to * sent_bytes_, rows[newest], sent_bytes_);
  for (std::size_t age = 1; age <= frames_; ++age) {
    std::byte* const frame = frames + ((to + 1) * frames_ - age) * sent_bytes_;
    if (rows[newest + age] != nullptr)
      std::memcpy(frame, rows[newest + age], sent_bytes_);
    else
      std::memset(frame, 0, sent_bytes_);
  }
}

void ReplayPasses::EnqueueUp(int passes) const {
  const auto count = static_cast<std::size_t>(passes);
  const std::size_t rows = count * 2 * static_cast<std::size_t>(rows_);
  const std::byte* from = pinned_->data();
  device_->CopyIn(Stream::kMain, lists_.data(), from, count * at_.rows.pass_bytes);
  from += lists_.size();
  EnqueueRows(from, rows, names_, observation_);
  from += all_rows() * sent_bytes_;
  if (frames_ > 0) EnqueueRows(from, rows * frames_, frame_names_, frames0_);
}

/// Rows of observations, or their names.
void ReplayPasses::EnqueueRows(const std::byte* from, std::size_t rows,
                               const DeviceArray<std::uint32_t>& names,
                               const DeviceArray<std::byte>& to) const {
  void* const first = kept_ == nullptr ? static_cast<void*>(to.data()) : names.data();
  device_->CopyIn(Stream::kMain, first, from, rows * sent_bytes_);
  if (kept_ != nullptr) kept_->Copy(names, rows, to.data());
}

ReplayLists ReplayPasses::lists() const {
  ReplayLists lists = at_;
  lists.rows.lists = lists_.data();
  return lists;
}

BatchObservations ReplayPasses::observations() const {
  return {.observation = observation_.data(),
          .next_observation = nullptr,
          .final_observation = nullptr,
          .frames0 = frames0_.data(),
          .flags = flags_.data(),
          .row_bytes = row_bytes_,
          .length = 1,
          .frames = static_cast<int>(frames_)};
}

}  // namespace murmurate
