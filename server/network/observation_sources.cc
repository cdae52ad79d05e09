#include "server/network/observation_sources.h"

#include <algorithm>
#include <cmath>

namespace murmurate {
namespace {

using Element = ObservationInput::Element;

/// Whether the input's layers take rows that lie apart; all others want them contiguous. `joined`:
/// every network has other inputs, too.
bool TakesRowsApart(const PlannedInput& input, bool joined) {
  if (input.layers.empty()) return joined;  // copied into the joined vector
  return input.layers.front().layer.form().takes_rows_apart;
}

}  // namespace

ObservationSources::ObservationSources(const ModelSpec& spec, const NetworkPlan& plan,
                                       LayerRoom* room)
    : room_(room), normalizes_(spec.normalize_observation) {
  const ObservationLayout layout(StackedObservation(spec));
  row_bytes_ = layout.row_bytes();
  if (spec.normalized_count() > 0) {
    mean_at_ = room->layout.Find("statistics.observation.mean").offset;
    variance_at_ = room->layout.Find("statistics.observation.variance").offset;
  }
  const auto published = std::ranges::count_if(plan.inputs, [&](const PlannedInput& planned) {
    return spec.spaces.privileged.kind == Space::Kind::kNone ||
           !IsPrivileged(layout.inputs()[planned.input].name);
  });
  int statistic = 0;
  for (const PlannedInput& planned : plan.inputs) {
    Source source;
    source.input = layout.inputs()[planned.input];
    source.stack = planned.stack;
    source.channels = source.input.shape.back() / planned.stack;
    source.width = static_cast<int>(planned.in.count());
    source.form = FormOf(planned, source.input.element, published > 1);
    if (source.form == Form::kNormalized) {
      source.statistic = statistic;
      statistic += source.width / source.stack;
      source.mean = AlignedFloats(source.width);
      source.scale = AlignedFloats(source.width);
    }
    if (source.form != Form::kAsItLies && source.form != Form::kBytesAsTheyLie) {
      source.block = AlignedFloats(static_cast<std::size_t>(room->max_rows) * source.width);
      source.rows = {source.block.data(), nullptr, source.width};
    }
    sources_.push_back(std::move(source));
  }
}

ObservationSources::Form ObservationSources::FormOf(const PlannedInput& planned,
                                                    ObservationInput::Element element,
                                                    bool joined) const {
  if (element == Element::kInt32) return Form::kOneHot;
  if (element == Element::kUint8) {
    const bool bytes = !planned.layers.empty() && planned.layers[0].layer.form().takes_bytes;
    return bytes ? Form::kBytesAsTheyLie : Form::kWidened;
  }
  if (normalizes_) return Form::kNormalized;
  const bool contiguous = row_bytes_ == planned.in.count() * sizeof(float);
  return contiguous || TakesRowsApart(planned, joined) ? Form::kAsItLies : Form::kCopied;
}

void ObservationSources::ReadStatistics(const float* parameters, Source* source) const {
  const float* const mean = parameters + mean_at_;
  const float* const variance = parameters + variance_at_;
  const int frame = source->channels, pixel = frame * source->stack;
  for (int i = 0; i < source->width; ++i) {  // each frame has the statistics of one frame
    const int at = source->statistic + i / pixel * frame + i % frame;
    source->mean[i] = mean[at];
    source->scale[i] = 1.0f / std::sqrt(variance[at] + 1e-8f);
  }
}

void ObservationSources::Begin(const float* parameters, const void* observations) {
  observations_ = static_cast<const std::byte*>(observations);
  for (Source& source : sources_) {
    const std::byte* const data = observations_ + source.input.offset_bytes;
    if (source.form == Form::kAsItLies)
      source.rows = {reinterpret_cast<const float*>(data), nullptr,
                     static_cast<std::ptrdiff_t>(row_bytes_ / sizeof(float))};
    if (source.form == Form::kBytesAsTheyLie)
      source.rows = {nullptr, reinterpret_cast<const std::uint8_t*>(data),
                     static_cast<std::ptrdiff_t>(row_bytes_)};
    if (source.form == Form::kNormalized) ReadStatistics(parameters, &source);
  }
}

void ObservationSources::PrepareRow(const Source& source, const std::byte* row, float* to) const {
  const LayerKernels& kernels = *room_->kernels.forward;
  const auto* const numbers = reinterpret_cast<const float*>(row);
  switch (source.form) {
    case Form::kNormalized:
      kernels.dense->normalize(1, source.width, numbers, source.mean.data(), source.scale.data(),
                               to);
      return;
    case Form::kCopied:
      std::copy_n(numbers, source.width, to);
      return;
    case Form::kWidened:
      kernels.widen(source.width, reinterpret_cast<const std::uint8_t*>(row), to);
      return;
    case Form::kOneHot:
      std::fill_n(to, source.width, 0.0f);
      for (int i = 0; i < source.input.elements; ++i) {
        to[reinterpret_cast<const std::int32_t*>(row)[i]] = 1.0f;
        to += source.input.categories[i];
      }
      return;
    default:
      return;
  }
}

void ObservationSources::Prepare(int first, int count) {
  for (Source& source : sources_) {
    if (source.block.size() == 0) continue;
    const std::byte* const row =
        observations_ + row_bytes_ * static_cast<std::size_t>(first) + source.input.offset_bytes;
    float* const to = source.block.data() + std::ptrdiff_t{first} * source.width;
    if (source.form == Form::kNormalized && row_bytes_ == source.width * sizeof(float)) {
      room_->kernels.forward->dense->normalize(count, source.width,
                                               reinterpret_cast<const float*>(row),
                                               source.mean.data(), source.scale.data(), to);
      continue;
    }
    for (int i = 0; i < count; ++i)
      PrepareRow(source, row + row_bytes_ * i, to + std::ptrdiff_t{i} * source.width);
  }
}

}  // namespace murmurate
