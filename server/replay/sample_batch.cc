#include "server/replay/sample_batch.h"

#include <algorithm>

#include "server/replay/sample_form.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

int SlotsOf(const ReplaySettings& settings) { return settings.minibatch * settings.most_updates; }

}  // namespace

std::size_t SampleBatch::BytesFor(const ReplaySettings& settings, const TrajectoryLayout& layout,
                                  bool places) {
  return TrainingBatch::BytesFor(WindowCopy::BatchLayout(SampleForm(settings, places), layout),
                                 SlotsOf(settings));
}

SampleBatch::SampleBatch(const ReplaySettings& settings, const TrajectoryLayout& layout,
                         KeptSteps* kept, BatchMemory& memory)
    : minibatch_(static_cast<std::size_t>(settings.minibatch)),
      kept_(kept),
      form_(settings, kept->rows().places().notes_written()),
      copy_(form_, layout, &kept->rows()),
      samples_(WindowCopy::BatchLayout(form_, layout), SlotsOf(settings), memory),
      weights_(minibatch_) {
  rows_.reserve(static_cast<std::size_t>(SlotsOf(settings)));
}

TrainingBatch* SampleBatch::Draw(int updates) {
  samples_.Clear();
  rows_.resize(minibatch_ * static_cast<std::size_t>(updates));
  for (auto rows = std::span(rows_); !rows.empty(); rows = rows.subspan(minibatch_))
    DrawMinibatch(rows.first(minibatch_));
  samples_.samples = TrainingBatch::Samples::kReplayed;
  samples_.kept = form_.places ? &kept_->places() : nullptr;
  samples_.learned = true;
  return &samples_;
}

/// The importance weights of both parts are over the largest of the minibatch.
void SampleBatch::DrawMinibatch(std::span<std::uint64_t> rows) {
  const std::size_t own = minibatch_ - demonstrated();
  const std::span weights(weights_);
  const double largest = kept_->sampler().Draw(rows.first(own), weights.first(own));
  if (demonstrations_) {
    const double other = demonstrations_->Draw(rows.subspan(own), weights.subspan(own));
    const double most = std::max(largest, other);
    for (float& weight : weights.first(own)) weight *= static_cast<float>(largest / most);
    for (float& weight : weights.subspan(own)) weight *= static_cast<float>(other / most);
  }
  for (std::size_t i = 0; i < own; ++i) copy_.Add(rows[i], weights_[i], &samples_);
  for (std::size_t i = own; i < minibatch_; ++i)
    demonstrations_->Add(rows[i], weights_[i], &samples_);
}

void SampleBatch::SetErrors(std::span<const float> errors) {
  MURMURATE_CHECK(errors.size() == rows_.size(), "an error for each slot");
  const std::size_t own = minibatch_ - demonstrated();
  for (std::size_t slot = 0; slot < rows_.size(); ++slot) {
    if (slot % minibatch_ < own)
      kept_->sampler().SetError(rows_[slot], errors[slot]);
    else
      demonstrations_->SetError(rows_[slot], errors[slot]);
  }
}

}  // namespace murmurate
