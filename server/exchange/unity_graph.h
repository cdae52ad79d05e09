// UnityGraph: the inputs and outputs of an exported policy as Unity's ML-Agents (2.0 and later, model
// version 3) names and shapes them; within, everything has the names of onnx_inputs.h and
// onnx_action.h. All are float but discrete_actions.
//
//   obs_0, obs_1...   the parts of the observation in their order: a vector [batch, n], a picture
//                     [batch, channels, height, width], of bytes as 0 to 1; categories as numbers
//   action_masks      [batch, all choices], 1: may be chosen
//   recurrent_in      [batch, 1, memory_size]: all states behind each other; recurrent_out likewise
//   discrete_actions, continuous_actions   [batch, n], all parts behind each other; the same again as
//                     deterministic_discrete_actions and deterministic_continuous_actions
//   version_number, memory_size, discrete_action_output_shape, continuous_action_output_shape
//                     constants: 3, numbers of the states, choices of each variable, count of numbers
#pragma once

#include <string>
#include <vector>

#include "server/exchange/onnx_graph.h"

namespace murmurate {

class UnityGraph : public OnnxGraph {
 public:
  /// `choices`: of each variable of the action, in order.
  explicit UnityGraph(std::vector<int> choices);

  void AddInput(const OnnxValue& input) override;
  void AddOutput(const OnnxValue& output) override;
  /// After all inputs and outputs, once.
  void Finish();

 private:
  void AddObservation(const OnnxValue& input);
  void AddState(const OnnxValue& input);
  void AddConstant(const std::string& name, const std::vector<float>& values);
  /// `parts` behind each other as an output of both names.
  void AddActions(const std::string& kind, OnnxType type, const std::vector<OnnxValue>& parts);

  const std::vector<int> choices_;
  std::vector<OnnxValue> discrete_, continuous_, states_;  ///< outputs
  int observations_ = 0;
  int memory_ = 0;  ///< numbers of all states
};

}  // namespace murmurate
