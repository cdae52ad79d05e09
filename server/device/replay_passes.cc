#include "server/device/replay_passes.h"

#include <algorithm>
#include <cstring>

#include "server/device/device_control.h"
#include "server/learn/window_return.h"
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
      sent_(spec, settings, static_cast<std::size_t>(most_ * 2 * rows_), memory),
      history_(sent_.frames() + 2) {
  const auto rows = static_cast<std::size_t>(rows_);
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
  lists_ = memory->Plan<std::byte>(MemoryPurpose::kBatches,
                                   static_cast<std::size_t>(most_) * at_.rows.pass_bytes);
}

std::size_t ReplayPasses::PlanList(std::size_t bytes) {
  const std::size_t at = at_.rows.pass_bytes;
  at_.rows.pass_bytes += (bytes + 15) / 16 * 16;
  return at;
}

Status ReplayPasses::Start(Device* device) {
  pinned_ = std::make_unique<PinnedBlock>(device, lists_.size());
  if (pinned_->data() == nullptr) return NoPinnedMemory();
  device_ = device;
  return sent_.Start(device);
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
  if (padding) return sent_.Lay(to, {});
  const std::span<const std::byte*> rows(history_);
  rows[0] = seen.successor;
  batch.History(seen.row, rows.subspan(1));
  sent_.Lay(to, rows.subspan(seen.successor != nullptr ? 0 : 1));
}

void ReplayPasses::EnqueueUp(int passes) const {
  const auto count = static_cast<std::size_t>(passes);
  device_->CopyIn(Stream::kMain, lists_.data(), pinned_->data(), count * at_.rows.pass_bytes);
  sent_.EnqueueUp(count * 2 * static_cast<std::size_t>(rows_));
}

ReplayLists ReplayPasses::lists() const {
  ReplayLists lists = at_;
  lists.rows.lists = lists_.data();
  return lists;
}

}  // namespace murmurate
