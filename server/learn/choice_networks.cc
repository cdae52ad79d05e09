#include "server/learn/choice_networks.h"

#include <algorithm>
#include <string>

#include "shared/core/check.h"
#include "shared/model/policy_and_value.h"

namespace murmurate {
namespace {

constexpr const char* kQuantilesNetwork = "quantiles";

const std::string& NameOfTarget(const ModelSpec& spec, const std::string& network) {
  const auto found = std::ranges::find(spec.networks, network, &NetworkSpec::follows);
  MURMURATE_CHECK(found != spec.networks.end(), "each network has a target");
  return found->name;
}

/// The policy, then those that share its layers; or their targets.
std::vector<std::string> Names(const ModelSpec& spec, bool targets) {
  std::vector<std::string> names;
  for (const NetworkSpec& network : spec.networks)
    if (network.trained) names.push_back(targets ? NameOfTarget(spec, network.name) : network.name);
  return names;
}

bool HasNetwork(const ModelSpec& spec, std::string_view name) { return spec.Find(name) != nullptr; }

}  // namespace

ModelSpec ChoiceNetworks::AddTo(ModelSpec spec, const AlgorithmSettings& settings) {
  const NetworkSpec policy = spec.policy();
  const ActionLayout action(spec.spaces.action, spec.continuous);
  spec.networks = {policy};
  const auto add = [&](std::string_view name, int outputs) {
    spec.networks.push_back(
        {.name = std::string(name), .trained = true, .shares = policy.name, .outputs = outputs});
  };
  if (settings.policy.dueling) add(kValueNetwork, 1);
  if (settings.policy.quantiles > 1)
    add(kQuantilesNetwork, action.outputs() * settings.policy.quantiles);
  const std::vector<NetworkSpec> learned = spec.networks;
  for (const NetworkSpec& network : learned)
    spec.networks.push_back(
        {.name = network.name == policy.name ? "target" : "target_" + network.name,
         .follows = network.name});
  return spec;
}

ChoiceNetworks::ChoiceNetworks(const ModelSpec& spec, const ParameterLayout& layout, bool targets,
                               int max_rows)
    : ChoiceNetworks(spec, layout, Names(spec, targets), max_rows) {}

ChoiceNetworks::ChoiceNetworks(const ModelSpec& spec, const ParameterLayout& layout,
                               const std::vector<std::string>& names, int max_rows)
    : choices_(ActionLayout(spec.spaces.action, spec.continuous)),
      network_(spec, layout, names.front(), max_rows, {names.begin() + 1, names.end()}),
      dueling_(HasNetwork(spec, kValueNetwork)),
      quantiles_(HasNetwork(spec, kQuantilesNetwork)
                     ? static_cast<std::size_t>(network_.outputs(names.size() - 1)) / outputs()
                     : 1) {
  const auto rows = static_cast<std::size_t>(max_rows);
  for (AlignedFloats* block : {&scores_, &d_scores_}) *block = AlignedFloats(rows * outputs());
  for (AlignedFloats* block : {&values_, &d_values_})
    *block = AlignedFloats(rows * outputs() * quantiles_);
  heads_ = {scores_.data()};
  d_heads_ = {d_scores_.data()};
  if (dueling_) {
    for (AlignedFloats* block : {&state_, &d_state_}) *block = AlignedFloats(rows);
    heads_.push_back(state_.data());
    d_heads_.push_back(d_state_.data());
  }
  if (quantiles_ > 1) {
    spread_ = AlignedFloats(rows * outputs() * quantiles_);
    heads_.push_back(spread_.data());
    d_heads_.push_back(d_values_.data());  // turned into that of z where it is
  }
}

void ChoiceNetworks::ForwardScores(std::span<const float> parameters, const float* observations,
                                   int rows) {
  network_.Forward(parameters, observations, rows, scores_.data());
}

void ChoiceNetworks::Forward(std::span<const float> parameters, const float* observations,
                             int rows) {
  rows_ = rows;
  network_.Forward(parameters, observations, rows, heads_);
  for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row) JoinRow(row);
}

/// Writes q of a row.
void ChoiceNetworks::JoinRow(std::size_t row) {
  const float* const scores = scores_.data() + row * outputs();
  float* const values = values_.data() + row * outputs() * quantiles_;
  for (int i = 0; i < choices_.variables(); ++i) {
    const auto [first, count] = choices_.variable(i);
    float shift = 0.0f;
    if (dueling_) {
      for (int c = first; c < first + count; ++c) shift += scores[c];
      shift = state_[row] - shift / static_cast<float>(count);
    }
    for (int c = first; c < first + count; ++c)
      std::fill_n(values + static_cast<std::size_t>(c) * quantiles_, quantiles_,
                  dueling_ ? scores[c] + shift : scores[c]);
  }
  if (quantiles_ == 1) return;
  const float* const spread = spread_.data() + row * outputs() * quantiles_;
  for (std::size_t c = 0; c < outputs(); ++c) {
    const std::size_t at = c * quantiles_;
    float mean = 0.0f;
    for (std::size_t i = at; i < at + quantiles_; ++i) mean += spread[i];
    mean /= static_cast<float>(quantiles_);
    for (std::size_t i = at; i < at + quantiles_; ++i) values[i] += spread[i] - mean;
  }
}

/// Writes the gradients of p, v and z from that of q, in whose place z's is.
void ChoiceNetworks::SplitRow(std::size_t row) {
  float* const d_scores = d_scores_.data() + row * outputs();
  float* const d_values = d_values_.data() + row * outputs() * quantiles_;
  for (std::size_t c = 0; c < outputs(); ++c) {
    float* const of = d_values + c * quantiles_;
    float sum = 0.0f;
    for (std::size_t i = 0; i < quantiles_; ++i) sum += of[i];
    d_scores[c] = sum;
    for (std::size_t i = 0; i < quantiles_; ++i) of[i] -= sum / static_cast<float>(quantiles_);
  }
  if (!dueling_) return;
  d_state_[row] = 0.0f;
  for (int i = 0; i < choices_.variables(); ++i) {
    const auto [first, count] = choices_.variable(i);
    float sum = 0.0f;
    for (int c = first; c < first + count; ++c) sum += d_scores[c];
    d_state_[row] += sum;
    for (int c = first; c < first + count; ++c) d_scores[c] -= sum / static_cast<float>(count);
  }
}

void ChoiceNetworks::Backward(std::span<const float> parameters, std::span<float> gradient) {
  for (std::size_t row = 0; row < static_cast<std::size_t>(rows_); ++row) SplitRow(row);
  network_.Backward(parameters, {d_heads_.begin(), d_heads_.end()}, gradient);
}

}  // namespace murmurate
