#include "server/parameters/value_rate.h"

#include <algorithm>

#include "server/parameters/apply.h"

namespace murmurate {

bool IsOfLearner(const TensorSlot& tensor) { return tensor.section == Section::kLearner; }

ValueRate::ValueRate(std::unique_ptr<Optimizer> optimizer, float factor,
                     std::vector<SectionRange> values)
    : optimizer_(std::move(optimizer)), factor_(factor), values_(std::move(values)) {
  std::size_t count = 0;
  for (const SectionRange& value : values_) count += value.count;
  before_ = AlignedFloats(count);
}

void ValueRate::Step(float learning_rate, float gradient_scale, std::span<const float> gradient,
                     std::span<float> parameters) {
  Keep(parameters);
  optimizer_->Step(learning_rate, gradient_scale, gradient, parameters);
  ScaleMoves(parameters);
}

void ValueRate::LookAhead(std::span<float> parameters) {
  Keep(parameters);
  optimizer_->LookAhead(parameters);
  ScaleMoves(parameters);
}

void ValueRate::Keep(std::span<const float> parameters) {
  auto to = before_.begin();
  for (const SectionRange& value : values_)
    to = std::ranges::copy(parameters.subspan(value.offset, value.count), to).out;
}

void ValueRate::ScaleMoves(std::span<float> parameters) const {
  std::span<const float> before = before_;
  for (const SectionRange& value : values_) {
    const std::span<float> part = parameters.subspan(value.offset, value.count);
    const std::span<const float> from = before.first(value.count);
    ScaledDifference(factor_, part, from, part);
    AddScaled(1.0f, from, part);
    before = before.subspan(value.count);
  }
}

}  // namespace murmurate
