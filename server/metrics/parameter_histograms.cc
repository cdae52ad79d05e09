#include "server/metrics/parameter_histograms.h"

#include <algorithm>
#include <filesystem>
#include <span>

#include "shared/model/parameter_layout.h"
#include "shared/model/weights_file.h"

namespace murmurate {
namespace {

Histogram HistogramOf(std::span<const float> numbers) {
  if (numbers.empty()) return {};
  const auto [low, high] = std::ranges::minmax(numbers);
  const double least = low, most = high;
  std::vector<double> upper;
  const int buckets = most > least ? ParameterHistograms::kBuckets : 1;
  for (int i = 1; i < buckets; ++i) upper.push_back(least + (most - least) * i / buckets);
  upper.push_back(most);
  Histogram histogram(upper);
  for (const float number : numbers) histogram.Add(number);
  return histogram;
}

}  // namespace

std::vector<std::pair<std::string, Histogram>> ParameterHistograms::ReadNew() {
  std::error_code error;
  const std::string newest = std::filesystem::read_symlink(latest_, error).string();
  if (error || newest == read_) return {};
  const auto file = ReadWeightsFile(latest_ + "/weights.safetensors");
  if (!file.ok()) return {};
  read_ = newest;
  const ParameterLayout layout(file->spec);
  std::vector<std::pair<std::string, Histogram>> histograms;
  for (const TensorSlot& slot : layout.tensors)
    if (histograms.size() < kMostTensors)
      histograms.emplace_back(
          slot.name, HistogramOf(std::span(file->parameters.data() + slot.offset, slot.count)));
  return histograms;
}

}  // namespace murmurate
