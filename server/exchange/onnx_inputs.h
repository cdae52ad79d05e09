// OnnxInputs: the inputs of an exported model, and what its networks make of them before their
// first layer: bytes scaled by 1/255, categories one-hot, float32 numbers normalized by the
// statistics and clipped. Every input is added when a network first asks for it.
//
//   observation, observation.NAME     [batch, shape...], float, uint8 or int32; frames stacked along
//                                     the last axis, the newest last
//   previous_action[.NAME], previous_reward   as previous_step.h; the reward as it was given
//   privileged[.NAME]                 for networks that read it
//   encoded_action                    [batch, ActionLayout::encoded_count()]
#pragma once

#include <map>
#include <string>
#include <vector>

#include "server/exchange/flat_model.h"
#include "server/exchange/onnx_flow.h"
#include "shared/model/observation_layout.h"

namespace murmurate {

class OnnxInputs {
 public:
  /// `model` and `graph` outlive it.
  OnnxInputs(const FlatModel& model, OnnxGraph* graph);

  /// An input as its network's first layer sees it.
  OnnxFlow Of(const PlannedInput& input);
  /// The action that a network reads beside the observation.
  OnnxFlow EncodedAction();

 private:
  OnnxFlow Make(const PlannedInput& planned, int index);
  std::string NameOf(int index) const;
  std::string Normalized(const std::string& name, int index, int stack);
  std::string OneHot(const std::string& name, const ObservationInput& input);

  const FlatModel& model_;
  OnnxGraph* graph_;
  const ObservationLayout rows_;     ///< of one frame
  const ObservationLayout stacked_;  ///< as the networks see them
  std::map<int, OnnxFlow> made_;
  std::string encoded_action_;
};

}  // namespace murmurate
