#include <utility>

#include "server/learn/algorithm_settings.h"

namespace murmurate {
namespace {

constexpr std::pair<AlgorithmName, const char*> kNames[] = {
    {AlgorithmName::kPpo, "ppo"},
    {AlgorithmName::kImpala, "impala"},
    {AlgorithmName::kA2c, "a2c"},
    {AlgorithmName::kSupervised, "supervised"},
    {AlgorithmName::kBc, "bc"}};

}  // namespace

const char* TextOf(AlgorithmName name) {
  for (const auto& [known, text] : kNames) {
    if (known == name) return text;
  }
  return "";
}

std::optional<AlgorithmName> AlgorithmNamed(const std::string& text) {
  for (const auto& [known, name] : kNames) {
    if (name == text) return known;
  }
  return std::nullopt;
}

}  // namespace murmurate
