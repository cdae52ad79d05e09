// NetworkReference: a second network, written from the definitions in double; slow and plain. Also
// the models that tests run it on, and rows of observations for them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shared/core/random.h"
#include "shared/model/model_spec.h"
#include "shared/model/network_plan.h"
#include "shared/model/observation_layout.h"
#include "shared/model/parameter_layout.h"

namespace murmurate {

struct NetworkCase {
  std::string name;
  std::string text;  ///< of the model, without its first line
};

/// Small models that together have every kind of layer, input and action.
std::vector<NetworkCase> NetworkCases();
ModelSpec SpecOf(const NetworkCase& network);

/// Rows of StackedObservation(spec): numbers, bytes and categories at random.
std::vector<std::uint32_t> RandomRows(const ModelSpec& spec, int rows, std::uint64_t seed);
/// Every number of the block set, padding left at zero.
std::vector<float> RandomParameters(const ModelSpec& spec);

class NetworkReference {
 public:
  NetworkReference(const ModelSpec& spec, const std::vector<float>& parameters);

  std::vector<double>& parameters() { return parameters_; }

  /// Time-major rows [steps][count]; state [count][state_floats] becomes the state after the last.
  struct Outputs {
    std::vector<double> logits, values, state;
  };
  Outputs Evaluate(const std::vector<std::uint32_t>& rows, int steps, int count,
                   const std::vector<std::uint8_t>& first, const std::vector<float>& state0) const;

 private:
  using Row = std::vector<double>;
  Row Input(const PlannedInput& input, const std::byte* row) const;
  Row Layers(const std::vector<PlannedLayer>& layers, Row x, double* state) const;
  Row Features(const NetworkPlan& plan, const std::byte* row, double* state) const;
  Row Dense(const std::string& name, const Row& x) const;
  Row Conv(const PlannedLayer& layer, const Row& x) const;
  Row MaxPool(const PlannedLayer& layer, const Row& x) const;
  Row LayerNorm(const PlannedLayer& layer, const Row& x) const;
  Row Lstm(const PlannedLayer& layer, const Row& x, double* state) const;
  Row Gru(const PlannedLayer& layer, const Row& x, double* state) const;
  const double* Find(const std::string& name) const;

  ModelSpec spec_;
  ParameterLayout layout_;
  ObservationLayout observation_;
  NetworkPlan policy_, critic_;
  std::vector<double> parameters_;
};

}  // namespace murmurate
