// The text form of a ModelSpec.
#include <algorithm>

#include "shared/core/check.h"
#include "shared/model/model_lines.h"
#include "shared/model/model_spec.h"
#include "shared/model/policy_and_value.h"
#include "shared/model/text.h"

namespace murmurate {
namespace {

constexpr std::string_view kFirstLine = "murmurate-model 2";
constexpr std::string_view kFirstLineOfOld = "murmurate-model 1";
constexpr std::size_t kMaxTextBytes = 16 * 1024;
constexpr std::uint64_t kMaxNetworks = 16;
constexpr std::uint64_t kMaxOutputs = 65536;
constexpr std::string_view kNetworks = "networks ", kNetwork = "network ", kShares = "shares ",
                           kHead = "head ";
constexpr std::string_view kReadsAction = "reads action", kReadsPrivileged = "reads privileged",
                           kHeadOfAction = "head action";

std::string LayersText(const std::vector<Layer>& layers) {
  std::string text;
  for (const Layer& layer : layers) text += layer.ToText() + "\n";
  return text;
}

std::string FlagText(const char* name, bool flag) {
  return std::string(name) + (flag ? " 1\n" : " 0\n");
}

std::string EncodersText(const std::vector<InputEncoder>& encoders) {
  std::string text;
  for (const InputEncoder& encoder : encoders) {
    text += "input " + (encoder.input.empty() ? std::string(kUnnamedInput) : encoder.input) +
            " stack " + std::to_string(encoder.stack) + "\n" + LayersText(encoder.layers);
  }
  return encoders.empty() ? text : text + "trunk\n";
}

std::string NetworkText(const NetworkSpec& network) {
  std::string text = std::string(kNetwork) + network.name;
  if (network.published) text += " published";
  if (network.trained) text += " trained";
  if (!network.follows.empty()) return text + " follows " + network.follows + "\n";
  text += "\n";
  if (!network.shares.empty()) {
    text += std::string(kShares) + network.shares + "\n";
  } else {
    if (network.reads_action) text += std::string(kReadsAction) + "\n";
    if (network.reads_privileged) text += std::string(kReadsPrivileged) + "\n";
    text += EncodersText(network.encoders) + LayersText(network.trunk);
  }
  return text + std::string(kHead) +
         (network.outputs == 0 ? "action" : std::to_string(network.outputs)) + "\n";
}

/// "network NAME published trained follows OTHER": each word at most once, in this order.
Status ReadTitle(std::string_view line, NetworkSpec* network) {
  const std::vector<std::string_view> words = SplitWords(line);
  std::size_t next = 2;
  const auto word = [&](std::string_view expected) {
    if (next >= words.size() || words[next] != expected) return false;
    ++next;
    return true;
  };
  if (words.size() > 1) network->name = std::string(words[1]);
  network->published = word("published");
  network->trained = word("trained");
  if (word("follows") && next < words.size()) network->follows = std::string(words[next++]);
  if (line.starts_with(kNetwork) && words.size() > 1 && next == words.size() &&
      words.back() != "follows")
    return Status();
  return ModelLines::Unexpected(line, "\"network NAME published trained follows OTHER\"");
}

Status ReadHead(std::string_view line, NetworkSpec* network) {
  if (line == kHeadOfAction) return Status();
  const auto outputs =
      line.starts_with(kHead) ? ParseCount(line.substr(kHead.size()), kMaxOutputs) : std::nullopt;
  if (!outputs || *outputs == 0)
    return ModelLines::Unexpected(line, "\"head action\" or \"head 1..65536\"");
  network->outputs = static_cast<int>(*outputs);
  return Status();
}

Status ReadNetwork(ModelLines* lines, NetworkSpec* network) {
  MURMURATE_RETURN_IF_ERROR(ReadTitle(lines->Next(), network));
  if (!network->follows.empty()) return Status();
  if (lines->peek().starts_with(kShares)) {
    network->shares = std::string(lines->Next().substr(kShares.size()));
  } else {
    network->reads_action = lines->NextIs(kReadsAction);
    network->reads_privileged = lines->NextIs(kReadsPrivileged);
    MURMURATE_RETURN_IF_ERROR(lines->ReadEncodersAndTrunk(&network->encoders, &network->trunk));
  }
  return ReadHead(lines->Next(), network);
}

Result<ModelSpec> ReadSpec(ModelLines* lines) {
  ModelSpec spec;
  MURMURATE_RETURN_IF_ERROR(lines->ReadSpaces(&spec.spaces));
  MURMURATE_RETURN_IF_ERROR(lines->ReadFlag("normalize_observation", &spec.normalize_observation));
  MURMURATE_RETURN_IF_ERROR(lines->ReadContinuous(spec.spaces.action, &spec.continuous));
  lines->ReadPrevious(&spec.previous);
  const std::string_view line = lines->Next();
  const auto count = line.starts_with(kNetworks)
                         ? ParseCount(line.substr(kNetworks.size()), kMaxNetworks)
                         : std::nullopt;
  if (!count) return ModelLines::Unexpected(line, "\"networks 1..16\"");
  for (std::uint64_t i = 0; i < *count; ++i)
    MURMURATE_RETURN_IF_ERROR(ReadNetwork(lines, &spec.networks.emplace_back()));
  return spec;
}

}  // namespace

std::string ModelSpec::ToText() const {
  if (!arrays.empty()) return ArrayListText(arrays);
  std::string text = std::string(kFirstLine) + "\n" + spaces.ToText();
  text += FlagText("normalize_observation", normalize_observation);
  if (HasNumbers(spaces.action)) {
    text += FlagText("state_dependent_deviation", continuous.state_dependent_deviation);
    text += FlagText("squashed", continuous.squashed);
    if (continuous.scaled) text += std::string(kScaleLine) + "\n";
    if (continuous.deterministic) text += std::string(kDeterministicLine) + "\n";
  }
  if (previous.any()) text += PreviousLine(previous) + "\n";
  text += std::string(kNetworks) + std::to_string(networks.size()) + "\n";
  for (const NetworkSpec& network : networks) text += NetworkText(network);
  return text;
}

Result<ModelSpec> ModelSpec::Parse(std::string_view text) {
  if (text.size() > kMaxTextBytes && !IsArrayList(text)) {
    return InvalidData("the model's text takes " + std::to_string(text.size()) +
                       " bytes where at most 16384 were expected: it is damaged");
  }
  if (IsArrayList(text))
    return InvalidData(
        "this is no network but the arrays of a program of its own, which only that "
        "program can use");
  ModelLines lines(text);
  const std::string_view first = lines.Next();
  if (first != kFirstLine && first != kFirstLineOfOld)
    return ModelLines::Unexpected(first, Quote(kFirstLine));
  Result<ModelSpec> spec = first == kFirstLine ? ReadSpec(&lines) : ParsePolicyAndValue(&lines);
  if (!spec.ok()) return spec;
  if (!lines.done()) return ModelLines::Unexpected(lines.peek(), "the end");
  MURMURATE_RETURN_IF_ERROR(CheckModel(*spec));
  return spec;
}

Result<ModelSpec> ModelSpec::ParseAny(std::string_view text) {
  if (!IsArrayList(text)) return Parse(text);
  auto arrays = ParseArrayList(text);
  if (!arrays.ok()) return arrays.status();
  ModelSpec spec;
  spec.arrays = *std::move(arrays);
  return spec;
}

}  // namespace murmurate
