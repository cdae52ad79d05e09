// OnnxAction: the outputs of an exported policy, made of its head as ActionHead makes an action of
// it (shared/inference/action_head.h). Of an action with parts ".NAME" follows each name:
//
//   action         what a deterministic player does: int64 [batch, variables] of choices and
//                  switches, the likeliest; float [batch, shape...] of numbers, as the game gets
//                  them
//   logits         of choices [batch, all choices], and of switches [batch, switches]; of a choice
//                  that the mask forbids the lowest float. Action values of a model that learned
//                  these.
//   mean           of numbers: the middle of the policy's Gaussian before scaling and squashing; of
//                  a deterministic policy its action, -1 to 1 in its box
//   deviation      of numbers, but of no deterministic policy: the spread of that Gaussian
//
// Actions with choices add the input action_mask, bool [batch, ActionLayout::mask_bytes()]: true
// allows. A variable without an allowed choice has all of them.
#pragma once

#include <string>

#include "server/exchange/flat_model.h"
#include "server/exchange/onnx_graph.h"
#include "shared/model/action_layout.h"

namespace murmurate {

class OnnxAction {
 public:
  /// `head`: a value of the graph, [batch, ActionLayout::outputs()]. `model` and `graph` outlive it.
  OnnxAction(const FlatModel& model, std::string head, OnnxGraph* graph);

  /// Adds the inputs and outputs above.
  void AddOutputs();

 private:
  void AddChoices(const ActionPart& part);
  void AddSwitches(const ActionPart& part);
  void AddNumbers(const ActionPart& part);

  /// Columns of a value of two axes.
  std::string Columns(const std::string& value, int first, int count, int of);
  std::string Name(const std::string& output, const ActionPart& part) const;
  /// The logits of one variable with those that are forbidden put out.
  std::string Allowed(const std::string& logits, const std::string& mask);
  std::string Deviation(const ActionPart& part, const std::string& mean);
  /// The numbers for the game.
  std::string ToGame(const ActionPart& part, const std::string& mean);
  std::string PerNumber(const ActionPart& part, const std::string& name,
                        const std::vector<float>& values);

  const FlatModel& model_;
  OnnxGraph* graph_;
  const ActionLayout layout_;
  const std::string head_;
};

}  // namespace murmurate
