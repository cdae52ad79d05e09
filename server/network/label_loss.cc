#include "server/network/label_loss.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "shared/core/check.h"

namespace murmurate {
namespace {

using Kind = ActionPart::Kind;

/// The likeliest of `choices` that the mask allows.
int Likeliest(const float* logits, const std::uint8_t* mask, int choices) {
  int best = -1;
  for (int i = 0; i < choices; ++i) {
    if (mask != nullptr && mask[i] == 0) continue;
    if (best < 0 || logits[i] > logits[best]) best = i;
  }
  return best;
}

}  // namespace

void LabelLossSums::Add(const LabelLossSums& more) {
  weight += more.weight;
  loss += more.loss;
  choices += more.choices;
  right += more.right;
  numbers += more.numbers;
  distance += more.distance;
}

LabelLoss::LabelLoss(const ActionLayout& layout, Numbers numbers, int max_rows)
    : layout_(layout),
      numbers_(numbers),
      head_(layout, nullptr,
            numbers == Numbers::kLikelihood ? ActionHeadRows::Parts::kAll
                                            : ActionHeadRows::Parts::kChoicesAndSwitches),
      log_prob_(static_cast<std::size_t>(max_rows)),
      d_log_prob_(log_prob_.size()),
      d_entropy_(log_prob_.size()) {}

void LabelLoss::CountChoices(const ActionPart& part, const ActionRows& rows, int row, double weight,
                             LabelLossSums* sums) const {
  const std::size_t i = static_cast<std::size_t>(row);
  const float* logits = rows.outputs + i * layout_.outputs() + part.first_output;
  const std::int32_t* label = rows.actions + i * layout_.words() + part.first_word;
  const std::uint8_t* mask = nullptr;
  if (rows.mask != nullptr && part.kind == Kind::kDiscrete)
    mask = rows.mask + i * layout_.mask_bytes() + part.first_mask_byte;
  for (int variable = 0; variable < part.count; ++variable) {
    const int choices = part.kind == Kind::kDiscrete ? part.choices[variable] : 1;
    const int likeliest =
        part.kind == Kind::kDiscrete ? Likeliest(logits, mask, choices) : *logits > 0.0f;
    sums->right += likeliest == label[variable] ? weight : 0.0;
    logits += choices;
    if (mask != nullptr) mask += choices;
  }
  sums->choices += weight * part.count;
}

void LabelLoss::AddNumbers(const ActionPart& part, const ActionRows& rows, int row, double weight,
                           double scale, LabelLossSums* sums, float* d_outputs) const {
  const std::size_t i = static_cast<std::size_t>(row);
  const float* mean = rows.outputs + i * layout_.outputs() + part.first_output;
  const std::int32_t* label = rows.actions + i * layout_.words() + part.first_word;
  double loss = 0.0, distance = 0.0;
  int known = 0;
  for (int k = 0; k < part.count; ++k) {
    const double known_label = std::bit_cast<float>(label[k]);
    if (std::isnan(known_label)) continue;
    const double error = double{mean[k]} - known_label;
    loss += error * error;
    distance += std::abs(error);
    ++known;
    if (numbers_ != Numbers::kSquaredError || d_outputs == nullptr) continue;
    d_outputs[i * layout_.outputs() + part.first_output + k] =
        static_cast<float>(weight * scale * 2.0 * error / part.count);
  }
  if (numbers_ == Numbers::kSquaredError) sums->loss += weight * loss / part.count;
  sums->numbers += weight * known;
  sums->distance += weight * distance;
}

LabelLossSums LabelLoss::Evaluate(const ActionRows& rows, const float* weight, float* d_outputs,
                                  float* d_log_deviations) {
  MURMURATE_CHECK(static_cast<std::size_t>(rows.rows) <= log_prob_.size(), "too many rows");
  LabelLossSums sums;
  for (int row = 0; row < rows.rows; ++row) sums.weight += weight[row];
  const double scale = sums.weight > 0.0 ? 1.0 / sums.weight : 0.0;
  head_.Evaluate(rows, log_prob_.data(), nullptr);
  for (int row = 0; row < rows.rows; ++row) {
    d_log_prob_[row] = static_cast<float>(-weight[row] * scale);
    if (weight[row] > 0.0f) sums.loss -= double{weight[row]} * log_prob_[row];
  }
  if (d_outputs != nullptr) {
    std::fill_n(d_outputs, static_cast<std::size_t>(rows.rows) * layout_.outputs(), 0.0f);
    head_.Gradient(rows, d_log_prob_.data(), d_entropy_.data(), d_outputs, d_log_deviations);
  }
  for (const ActionPart& part : layout_.parts()) {
    for (int row = 0; row < rows.rows; ++row) {
      if (weight[row] <= 0.0f) continue;
      if (part.kind == Kind::kContinuous) {
        AddNumbers(part, rows, row, weight[row], scale, &sums, d_outputs);
      } else {
        CountChoices(part, rows, row, weight[row], &sums);
      }
    }
  }
  return sums;
}

}  // namespace murmurate
