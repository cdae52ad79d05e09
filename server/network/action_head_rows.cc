#include "server/network/action_head_rows.h"

#include <algorithm>
#include <cmath>

#include "server/network/action_head_kernels.h"
#include "shared/core/check.h"
#include "shared/inference/action_head.h"

namespace murmurate {
namespace {

void AddColumns(const ActionPart& part, bool squashed, std::vector<ActionColumn>* columns) {
  int logits = 0;
  for (int i = 0; i < part.count; ++i) {
    ActionColumn column{.kind = part.kind, .word = part.first_word + i};
    column.output = part.first_output + i;
    column.part_count = part.count;
    if (part.kind == ActionPart::Kind::kDiscrete) {
      column.choices = part.choices[i];
      column.output = part.first_output + logits;
      column.mask_byte = part.first_mask_byte + logits;
      logits += part.choices[i];
    } else if (part.kind == ActionPart::Kind::kContinuous) {
      column.squashed = squashed;
      column.free_deviation = part.first_deviation >= 0;
      column.deviation =
          (column.free_deviation ? part.first_deviation : part.first_output + part.count) + i;
    }
    columns->push_back(column);
  }
}

}  // namespace

std::vector<ActionColumn> ActionColumns(const ActionLayout& layout) {
  std::vector<ActionColumn> columns;
  for (const ActionPart& part : layout.parts())
    AddColumns(part, layout.settings().squashed, &columns);
  return columns;
}

ActionHeadRows::ActionHeadRows(const ActionLayout& layout, const ActionKernels* kernels,
                               Parts parts)
    : words_(layout.words()),
      outputs_(layout.outputs()),
      mask_bytes_(layout.mask_bytes()),
      free_deviations_(layout.free_deviations()),
      kernels_(kernels == nullptr ? &BestKernels<ActionKernels>() : kernels) {
  MURMURATE_CHECK(!layout.settings().deterministic || parts == Parts::kChoicesAndSwitches,
                  "a deterministic policy has no distribution");
  for (const ActionColumn& column : ActionColumns(layout))
    if (parts == Parts::kAll || column.kind != ActionPart::Kind::kContinuous)
      columns_.push_back(column);
  deviations_ = static_cast<int>(
      std::ranges::count(columns_, ActionPart::Kind::kContinuous, &ActionColumn::kind));
}

double ActionHeadRows::MeanDeviation(const ActionRows& rows, int row) const {
  const float* const outputs = rows.outputs + static_cast<std::size_t>(row) * outputs_;
  double sum = 0.0;
  for (const ActionColumn& column : columns_) {
    if (column.kind != ActionPart::Kind::kContinuous) continue;
    const float* const from = column.free_deviation ? rows.log_deviations : outputs;
    sum += std::exp(std::clamp(from[column.deviation], kMinLogDeviation, kMaxLogDeviation));
  }
  return sum / deviations_;
}

void ActionHeadRows::Evaluate(const ActionRows& rows, float* log_prob, float* entropy) const {
  MURMURATE_CHECK(free_deviations_ == 0 || rows.log_deviations != nullptr, "log deviations");
  const ActionCall call{rows,   columns_.data(), static_cast<int>(columns_.size()),
                        words_, outputs_,        mask_bytes_};
  kernels_->evaluate(call, log_prob, entropy);
}

void ActionHeadRows::Gradient(const ActionRows& rows, const float* d_log_prob,
                              const float* d_entropy, float* d_outputs,
                              float* d_log_deviations) const {
  MURMURATE_CHECK(free_deviations_ == 0 || rows.log_deviations != nullptr, "log deviations");
  const ActionCall call{rows,   columns_.data(), static_cast<int>(columns_.size()),
                        words_, outputs_,        mask_bytes_};
  if (free_deviations_ > 0) std::fill_n(d_log_deviations, free_deviations_, 0.0f);
  kernels_->gradient(call, d_log_prob, d_entropy, d_outputs, d_log_deviations);
}

}  // namespace murmurate
