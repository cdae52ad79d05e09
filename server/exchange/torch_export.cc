#include "server/exchange/torch_export.h"

#include <algorithm>

#include "server/exchange/torch_layout.h"
#include "shared/model/safetensors.h"

namespace murmurate {
namespace {

/// "policy.0.weight" is of "policy"; so are "statistics", which every file has.
bool Wanted(const std::string& tensor, const ModelSpec& spec,
            const std::vector<std::string>& networks) {
  const std::string owner = tensor.substr(0, tensor.find('.'));
  return owner == spec.policy().name || !spec.Find(owner) || std::ranges::count(networks, owner);
}

}  // namespace

Result<std::string> FormatTorch(const WeightsFile& file, const std::vector<std::string>& networks) {
  const ParameterLayout layout(file.spec);
  std::vector<PlacedTensor> tensors = TorchLayout(file.spec, layout);
  std::erase_if(tensors,
                [&](const PlacedTensor& t) { return !Wanted(t.name, file.spec, networks); });
  std::vector<std::vector<float>> numbers;
  numbers.reserve(tensors.size());
  std::vector<NamedTensor> named;
  for (const PlacedTensor& tensor : tensors) {
    std::vector<float>& values = numbers.emplace_back(tensor.places.size());
    for (std::size_t i = tensor.added; i < values.size(); ++i)
      values[i] = file.parameters[tensor.places[i]];
    named.push_back({tensor.name, tensor.shape, values});
  }
  return FormatSafetensors({{kLayoutKey, kTorchLayout},
                            {kTorchModelKey, file.spec.ToText()},
                            {"murmurate.version", std::to_string(file.version)},
                            {"murmurate.steps", std::to_string(file.steps)}},
                           named);
}

}  // namespace murmurate
