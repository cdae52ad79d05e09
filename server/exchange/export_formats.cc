#include "server/exchange/export_formats.h"

#include <algorithm>

#include "server/exchange/onnx_export.h"
#include "server/exchange/torch_export.h"
#include "server/exchange/unity_export.h"
#include "shared/model/text.h"

namespace murmurate {
namespace {

Result<std::string> FormatUnityPolicy(const WeightsFile& file, const std::vector<std::string>&) {
  return FormatUnity(file);
}

Result<std::string> FormatPolicy(const WeightsFile& file, const std::vector<std::string>&) {
  return FormatWeightsFile(file, /*published_only=*/true);
}

constexpr ExportFormat kFormats[] = {
    {"policy", ".policy", "what Client::Open and mmr_open read", FormatPolicy, true},
    {"onnx", ".onnx", "what onnxruntime and game engines read", FormatOnnx},
    {"safetensors", ".safetensors", "names and shapes of PyTorch", FormatTorch},
    {"unity", ".unity.onnx", "ONNX with the tensors that ML-Agents names", FormatUnityPolicy, true},
};

/// Networks that can be exported besides the policy.
std::vector<std::string> OthersOf(const ModelSpec& spec) {
  std::vector<std::string> names;
  for (const NetworkSpec& network : spec.networks)
    if (network.follows.empty() && network.name != spec.policy().name)
      names.push_back(network.name);
  return names;
}

Status NoSuchNetwork(const std::string& name, const std::vector<std::string>& others) {
  std::string listed;
  for (const std::string& other : others) listed += (listed.empty() ? "" : ", ") + other;
  return InvalidArgument("--networks " + name +
                         ": the model has no such network to export (it has " +
                         (others.empty() ? "none but the policy); leave the option out"
                                         : listed + "); name one of these, or \"all\""));
}

Result<std::vector<std::string>> NetworksOf(const ModelSpec& spec,
                                            const std::vector<std::string>& asked) {
  const std::vector<std::string> others = OthersOf(spec);
  std::vector<std::string> networks;
  for (const std::string& name : asked) {
    if (name == "all") return others;
    if (!std::ranges::count(others, name)) return NoSuchNetwork(name, others);
    if (!std::ranges::count(networks, name)) networks.push_back(name);
  }
  return networks;
}

}  // namespace

std::span<const ExportFormat> ExportFormats() { return kFormats; }

Result<std::string> FormatExport(const ExportFormat& format, const WeightsFile& file,
                                 const ExportOptions& options) {
  if (file.spec.networks.empty())
    return InvalidArgument(
        "the model is a list of arrays of a program of its own and has no policy; export a run "
        "whose "
        "model murmurate made");
  if (format.policy_alone && !options.networks.empty())
    return InvalidArgument(std::string("--networks: a file of the format ") + format.name +
                           " has the policy alone; take the option out, or use another --format");
  const auto networks = NetworksOf(file.spec, options.networks);
  if (!networks.ok()) return networks.status();
  return format.format(file, *networks);
}

}  // namespace murmurate
