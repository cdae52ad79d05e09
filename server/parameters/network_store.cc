#include "server/parameters/network_store.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "shared/core/check.h"

namespace murmurate {

std::vector<SectionRange> TrainedNetworks(const ModelSpec& spec, const ParameterLayout& layout) {
  std::vector<SectionRange> ranges;
  for (const NetworkSpec& network : spec.networks) {
    if (!network.trained) continue;
    const auto first = std::ranges::find_if(layout.tensors, [&](const TensorSlot& tensor) {
      return tensor.name.starts_with(network.name + ".");
    });
    MURMURATE_CHECK(first != layout.tensors.end(), "a network has parameters");
    if (!ranges.empty()) ranges.back().count = first->offset - ranges.back().offset;
    ranges.push_back({first->offset, layout.trained_count() - first->offset});
  }
  return ranges;
}

NetworkStore::NetworkStore(const ModelSpec& spec, const ParameterLayout& layout,
                           const OptimizerSettings& settings, double max_grad_norm)
    : max_grad_norm_(max_grad_norm) {
  for (const SectionRange& range : TrainedNetworks(spec, layout))
    networks_.push_back({range, MakeOptimizer(settings, layout, range)});
}

double NetworkStore::Step(double learning_rate, std::span<const float> gradient,
                          std::span<float> parameters) {
  return StepNetworks(~std::uint32_t{0}, learning_rate, gradient, parameters);
}

double NetworkStore::StepNetworks(std::uint32_t networks, double learning_rate,
                                  std::span<const float> gradient, std::span<float> parameters) {
  const auto steps = [networks](std::size_t i) { return (networks >> i & 1u) != 0; };
  double squares = 0.0;
  for (std::size_t i = 0; i < networks_.size(); ++i)
    if (steps(i))
      squares +=
          SumOfSquares(gradient.subspan(networks_[i].range.offset, networks_[i].range.count));
  const double norm = std::sqrt(squares);
  if (!std::isfinite(norm)) return norm;
  const bool clipped = max_grad_norm_ > 0.0 && norm > max_grad_norm_;
  const float scale = clipped ? static_cast<float>(max_grad_norm_ / norm) : 1.0f;
  for (std::size_t i = 0; i < networks_.size(); ++i) {
    if (!steps(i)) continue;
    const auto [offset, count] = networks_[i].range;
    networks_[i].optimizer->Step(static_cast<float>(learning_rate), scale,
                                 gradient.subspan(offset, count),
                                 parameters.subspan(offset, count));
    networks_[i].optimizer->LookAhead(parameters.subspan(offset, count));
  }
  ++updates_;
  return norm;
}

bool NetworkStore::ForgetGradients() {
  for (Network& network : networks_) network.optimizer->Forget();
  return true;
}

void NetworkStore::Save(const StateWriter& writer) const {
  for (std::size_t i = 0; i < networks_.size(); ++i)
    networks_[i].optimizer->Save(writer.Section(std::to_string(i)));
  writer.Words("updates", std::span(&updates_, 1));
}

Status NetworkStore::Load(const StateReader& reader) {
  for (std::size_t i = 0; i < networks_.size(); ++i)
    MURMURATE_RETURN_IF_ERROR(networks_[i].optimizer->Load(reader.Section(std::to_string(i))));
  return reader.Words("updates", std::span(&updates_, 1));
}

}  // namespace murmurate
