#include "shared/model/model_spec.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "shared/core/check.h"
#include "shared/model/network_plan.h"
#include "shared/model/observation_layout.h"
#include "shared/model/text.h"

namespace murmurate {
namespace {

constexpr int kMaxStack = 16;
constexpr std::int64_t kMaxParameters = std::int64_t{1} << 28;  // 1 GiB
constexpr int kMaxOutputs = 65536;                              // of a head, as of a layer

Status CheckEncoders(const ModelSpec& spec, const NetworkSpec& network) {
  const ObservationLayout observation(spec.row_space());
  for (const InputEncoder& encoder : network.encoders) {
    const auto& inputs = observation.inputs();
    const auto input = std::find_if(inputs.begin(), inputs.end(), [&](const ObservationInput& one) {
      return one.name == encoder.input;
    });
    const std::string who = "the input " + Quote(encoder.input);
    if (input == inputs.end()) {
      return InvalidArgument(who + " has layers, but the observation has no such part");
    }
    if (spec.spaces.privileged.kind != Space::Kind::kNone && IsPrivileged(encoder.input) &&
        !network.reads_privileged) {
      return InvalidArgument(who + " has layers in the network " + Quote(network.name) +
                             ", which does not read it");
    }
    if (network.FindEncoder(encoder.input) != &encoder) {
      return InvalidArgument(who + " is described twice");
    }
    if (encoder.stack < 1 || encoder.stack > kMaxStack) {
      return InvalidArgument(who + ": expected a stack of 1 to 16 frames, got " +
                             std::to_string(encoder.stack));
    }
    if (encoder.stack > 1 && input->element == ObservationInput::Element::kInt32) {
      return InvalidArgument(who + " holds categories, which cannot be stacked");
    }
    if (encoder.stack != spec.StackOf(encoder.input)) {
      return InvalidArgument(who + " is stacked " + std::to_string(encoder.stack) +
                             " in the network " + Quote(network.name) + " and " +
                             std::to_string(spec.StackOf(encoder.input)) +
                             " in another: every network sees the same frames");
    }
  }
  return Status();
}

bool IsName(std::string_view name) {
  constexpr std::size_t kMost = 32;
  const auto letter = [](char c) { return c >= 'a' && c <= 'z'; };
  return !name.empty() && name.size() <= kMost && letter(name.front()) &&
         std::all_of(name.begin(), name.end(),
                     [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '_'; });
}

/// Published networks first, then those that are trained, then targets.
int RankOf(const NetworkSpec& network) { return network.published ? 0 : network.trained ? 1 : 2; }

/// `other` is a network before `network` with layers and a head of its own; or, where `network`
/// follows it, with those of one that a target before `network` follows.
Status CheckRefersTo(const ModelSpec& spec, const NetworkSpec& network, const std::string& other) {
  const NetworkSpec* found = spec.Find(other);
  const auto has_target = [&](const std::string& shared) {
    return std::any_of(spec.networks.data(), &network,
                       [&](const NetworkSpec& before) { return before.follows == shared; });
  };
  if (found != nullptr && found < &network && found->follows.empty() &&
      (found->shares.empty() || (!network.follows.empty() && has_target(found->shares))))
    return Status();
  return InvalidArgument("the network " + Quote(network.name) + " refers to " + Quote(other) +
                         ", which is no network before it with layers of its own");
}

Status CheckNetwork(const ModelSpec& spec, const NetworkSpec& network) {
  const std::string who = "the network " + Quote(network.name);
  if (!IsName(network.name)) {
    return InvalidArgument(who +
                           ": a name has 1 to 32 of a-z, 0-9 and _, and begins with a letter");
  }
  if (spec.Find(network.name) != &network) return InvalidArgument(who + " is described twice");
  if (network.trained == !network.follows.empty()) {
    return InvalidArgument(who + " must either be trained or follow another, and not both");
  }
  if (network.outputs > kMaxOutputs)
    return InvalidArgument(who + " has " + std::to_string(network.outputs) +
                           " outputs, expected at most " + std::to_string(kMaxOutputs));
  if (network.published && !network.trained) {
    return InvalidArgument(who + " is published and not trained, which is not supported");
  }
  if (&network != &spec.networks.front() && RankOf(network) < RankOf(*(&network - 1))) {
    return InvalidArgument(who +
                           " is out of order: published networks come first, then others "
                           "that are trained, then targets");
  }
  if (!network.follows.empty()) return CheckRefersTo(spec, network, network.follows);
  if (!network.shares.empty()) return CheckRefersTo(spec, network, network.shares);
  if (network.reads_privileged &&
      (network.published || spec.spaces.privileged.kind == Space::Kind::kNone)) {
    return InvalidArgument(who + " cannot read a privileged observation: " +
                           (network.published ? "players have none" : "the spaces have none"));
  }
  if (network.recurrent() && !network.published) {
    return InvalidArgument("the layers of " + who +
                           " recur and players do not have it, so its state "
                           "would be unknown; share the trunk (separate_value = false)");
  }
  return CheckEncoders(spec, network);
}

/// Parameters of the layers and the head.
Result<std::int64_t> CountParameters(const ModelSpec& spec, const NetworkSpec& network) {
  const Result<NetworkPlan> plan = PlanNetwork(spec, network.name);
  if (!plan.ok()) return plan.status();
  std::int64_t count = plan->head.parameters();
  if (!plan->own_layers) return count;
  for (const PlannedInput& input : plan->inputs) {
    for (const PlannedLayer& layer : input.layers) count += layer.parameters();
  }
  for (const PlannedLayer& layer : plan->trunk) count += layer.parameters();
  return count;
}

}  // namespace

const InputEncoder* NetworkSpec::FindEncoder(std::string_view input) const {
  for (const InputEncoder& encoder : encoders) {
    if (encoder.input == input) return &encoder;
  }
  return nullptr;
}

bool NetworkSpec::recurrent() const {
  return std::any_of(trunk.begin(), trunk.end(), [](const Layer& l) { return l.recurrent(); });
}

const NetworkSpec* ModelSpec::Find(std::string_view network) const {
  for (const NetworkSpec& one : networks) {
    if (one.name == network) return &one;
  }
  return nullptr;
}

int ModelSpec::StackOf(std::string_view input) const {
  const InputEncoder* encoder = networks.empty() ? nullptr : policy().FindEncoder(input);
  return encoder == nullptr ? 1 : encoder->stack;
}

bool ModelSpec::recurrent() const {
  return std::any_of(networks.begin(), networks.end(),
                     [](const NetworkSpec& network) { return network.recurrent(); });
}

int ModelSpec::normalized_count() const {
  if (!normalize_observation) return 0;
  int count = 0;
  const ObservationLayout observation(row_space());
  for (const ObservationInput& input : observation.inputs()) {
    if (input.element == ObservationInput::Element::kFloat32) count += input.elements;
  }
  return count;
}

Status CheckModel(const ModelSpec& spec) {
  MURMURATE_RETURN_IF_ERROR(CheckSpaces(spec.spaces));
  MURMURATE_RETURN_IF_ERROR(CheckContinuous(spec.spaces.action, spec.continuous));
  MURMURATE_RETURN_IF_ERROR(CheckRowSpace(spec.spaces, spec.previous));
  if (spec.networks.empty() || !spec.policy().published || spec.policy().outputs != 0) {
    return InvalidArgument(
        "the model's first network must be published and have a head for the "
        "action: it is what players choose by");
  }
  std::int64_t total = 0;
  for (const NetworkSpec& network : spec.networks) {
    MURMURATE_RETURN_IF_ERROR(CheckNetwork(spec, network));
    const Result<std::int64_t> count = CountParameters(spec, network);
    if (!count.ok()) return count.status();
    total += *count;
  }
  if (total > kMaxParameters) {
    return InvalidArgument("the model has " + std::to_string(total) +
                           " parameters where at most 268435456 were expected: use fewer units, "
                           "or strides that shrink the picture before it is flattened");
  }
  return Status();
}

Sha256Digest ModelSpec::Hash() const { return Sha256(ToText()); }

std::uint64_t ModelSpec::ShortHash() const {
  static_assert(std::endian::native == std::endian::little);
  const Sha256Digest digest = Hash();
  std::uint64_t first = 0;
  std::memcpy(&first, digest.data(), sizeof(first));
  return first;
}

}  // namespace murmurate
