#include "server/learn/replayed_steps.h"

#include "shared/core/check.h"

namespace murmurate {

ReplayedSteps::ReplayedSteps(const ModelSpec& spec, const AlgorithmSettings& settings)
    : most_(settings.replay.minibatch),
      n_step_(settings.n_step),
      gamma_(settings.gamma),
      mask_bytes_(
          static_cast<std::size_t>(ActionLayout(spec.spaces.action, spec.continuous).mask_bytes())),
      here_(spec, most_),
      there_(spec, most_) {
  const auto steps = static_cast<std::size_t>(most_);
  seen_.reserve(steps);
  ends_.reserve(steps);
  reward_.reserve(steps);
  discount_.reserve(steps);
}

void ReplayedSteps::Gather(const TrainingBatch& batch, std::span<const std::int32_t> rows) {
  MURMURATE_CHECK(!rows.empty() && rows.size() <= static_cast<std::size_t>(most_),
                  "the steps of one update");
  batch_ = &batch;
  seen_.clear();
  ends_.clear();
  reward_.clear();
  discount_.clear();
  for (const std::int32_t row : rows) {
    const WindowReturn found = ReturnOf(batch, row, n_step_, gamma_);
    seen_.push_back({.row = row});
    ends_.push_back(found.end);
    reward_.push_back(static_cast<float>(found.reward));
    discount_.push_back(found.discount);
  }
  here_.Gather(batch, seen_, rows.front());
  there_.Gather(batch, ends_, rows.front());
}

const std::uint8_t* ReplayedSteps::MaskOf(const SeenRow& row) const {
  if (!batch_->masked || row.row == SeenRow::kPadding || row.successor != nullptr) return nullptr;
  return &batch_->mask[static_cast<std::size_t>(row.row) * mask_bytes_];
}

}  // namespace murmurate
