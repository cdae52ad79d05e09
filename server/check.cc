#include <algorithm>
#include <cstdio>

#include "client/environments/environment.h"
#include "server/commands.h"
#include "server/operate/display.h"

namespace murmurate {
namespace {

void PrintSettings(const Config& config) {
  const auto lines = config.Explain();
  std::size_t path = 0, value = 0, origin = 0;
  for (const auto& line : lines) {
    path = std::max(path, line.path.size());
    value = std::max(value, std::min<std::size_t>(line.value.size(), 44));
    origin = std::max(origin, line.origin.size());
  }
  for (const auto& line : lines)
    std::printf("%-*s  %-*s  %-*s  %s\n", static_cast<int>(path), line.path.c_str(),
                static_cast<int>(value), line.value.c_str(), static_cast<int>(origin),
                line.origin.c_str(), line.meaning.c_str());
}

std::string Shape(const std::vector<int>& shape) {
  std::string text;
  for (const int size : shape) text += (text.empty() ? "" : " x ") + std::to_string(size);
  return text;
}

const char* SectionName(Section section) {
  return section == Section::kPolicy   ? "policy"
         : section == Section::kCritic ? "critic"
                                       : "statistics";
}

void PrintModel(const ModelSpec& spec) {
  const ParameterLayout layout(spec);
  std::printf("\n%-30s %-11s %14s %12s %14s\n", "tensor", "section", "shape", "parameters",
              "bytes");
  std::size_t parameters = 0;
  for (const TensorSlot& tensor : layout.tensors) {
    parameters += tensor.count;
    std::printf("%-30s %-11s %14s %12s %14s\n", tensor.name.c_str(), SectionName(tensor.section),
                Shape(tensor.shape).c_str(), WithCommas(tensor.count).c_str(),
                WithCommas(tensor.count * sizeof(float)).c_str());
  }
  std::printf("%-30s %-11s %14s %12s %14s\n", "whole block, padded", "", "",
              WithCommas(parameters).c_str(), WithCommas(layout.total * sizeof(float)).c_str());
  const std::size_t published = (layout.policy.count + layout.statistics.count) * sizeof(float);
  std::printf("%-30s %-11s %14s %12s %14s\n", "published with each version", "", "", "",
              WithCommas(published).c_str());
}

}  // namespace

Result<int> RunCheck(const CommonArguments& common, const std::string& name) {
  ConfigSource source{"defaults", "serve", ""};
  if (!name.empty()) {
    auto found = FindConfig(name);
    if (!found.ok()) return found.status();
    source = std::move(*found);
  }
  auto config = Config::Load(source, common.overrides);
  if (!config.ok()) return config.status();
  PrintSettings(*config);
  if (config->run().environment.empty()) {
    std::printf(
        "\nrun.environment is not set: the model is made for the spaces of the first actor\n");
    return 0;
  }
  auto environment = MakeEnvironment(config->run().environment);
  if (!environment.ok()) return environment.status();
  PrintModel(config->ModelFor("default", (*environment)->spaces()).spec);
  return 0;
}

}  // namespace murmurate
