#include "server/exchange/unity_graph.h"

#include <utility>

namespace murmurate {
namespace {

constexpr char kMemory[] = "/memory";  // [batch, memory_size]
constexpr float kModelVersion = 3.0f;

std::int64_t NumberOf(OnnxType type) { return static_cast<std::int64_t>(type); }

}  // namespace

UnityGraph::UnityGraph(std::vector<int> choices) : choices_(std::move(choices)) {}

void UnityGraph::AddInput(const OnnxValue& input) {
  if (input.name.starts_with("observation")) return AddObservation(input);
  if (input.type != OnnxType::kBool) return AddState(input);
  OnnxGraph::AddInput({"action_masks", OnnxType::kFloat, input.shape, input.meaning});
  Node("Greater", {"action_masks", Number(0.5f)}, {}, input.name);
}

void UnityGraph::AddObservation(const OnnxValue& input) {
  OnnxValue theirs{"obs_" + std::to_string(observations_++), OnnxType::kFloat, input.shape,
                   input.name + ": " + input.meaning};
  std::string value = theirs.name;
  if (input.shape.size() == 3) {
    theirs.shape = {input.shape[2], input.shape[0], input.shape[1]};
    value = Node("Transpose", {value}, {{"perm", std::vector<std::int64_t>{0, 2, 3, 1}}});
  }
  OnnxGraph::AddInput(theirs);
  if (input.type == OnnxType::kUint8) {
    Node("Mul", {value, Number(255.0f)}, {}, input.name);
  } else if (input.type == OnnxType::kInt32) {
    Node("Cast", {value}, {{"to", NumberOf(input.type)}}, input.name);
  } else {
    Node("Identity", {value}, {}, input.name);
  }
}

void UnityGraph::AddState(const OnnxValue& input) {
  const int units = input.shape[0];
  if (memory_ == 0) Node("Flatten", {"recurrent_in"}, {{"axis", std::int64_t{1}}}, kMemory);
  Node("Slice", {kMemory, Integers({memory_}), Integers({memory_ + units}), Integers({1})}, {},
       input.name);
  memory_ += units;
}

void UnityGraph::AddOutput(const OnnxValue& output) {
  if (output.name.starts_with("hn") || output.name.starts_with("cn")) {
    states_.push_back(output);
  } else if (output.name.starts_with("action")) {
    (output.type == OnnxType::kInt64 ? discrete_ : continuous_).push_back(output);
  }
}

void UnityGraph::AddConstant(const std::string& name, const std::vector<float>& values) {
  const int count = static_cast<int>(values.size());
  Node("Identity", {Floats("/" + name, {count}, values)}, {}, name);
  OnnxGraph::AddOutput({name, OnnxType::kFloat, {count}, "", false});
}

void UnityGraph::AddActions(const std::string& kind, OnnxType type,
                            const std::vector<OnnxValue>& parts) {
  std::vector<std::string> rows;
  int count = 0;
  for (const OnnxValue& part : parts) {
    rows.push_back(Node("Flatten", {part.name}, {{"axis", std::int64_t{1}}}));
    int numbers = 1;
    for (const int size : part.shape) numbers *= size;
    count += numbers;
  }
  const std::string name = kind + "_actions";
  Node("Concat", rows, {{"axis", std::int64_t{1}}}, name);
  Node("Identity", {name}, {}, "deterministic_" + name);
  for (const std::string& output : {name, "deterministic_" + name})
    OnnxGraph::AddOutput({output, type, {count}, "what a deterministic player does"});
  std::vector<float> shape(choices_.begin(), choices_.end());
  if (type == OnnxType::kFloat) shape = {static_cast<float>(count)};
  AddConstant(kind + "_action_output_shape", shape);
}

void UnityGraph::Finish() {
  AddConstant("version_number", {kModelVersion});
  AddConstant("memory_size", {static_cast<float>(memory_)});
  if (!continuous_.empty()) AddActions("continuous", OnnxType::kFloat, continuous_);
  if (!discrete_.empty()) AddActions("discrete", OnnxType::kInt64, discrete_);
  if (memory_ == 0) return;
  OnnxGraph::AddInput({"recurrent_in", OnnxType::kFloat, {1, memory_}, "zeros at first"});
  std::vector<std::string> states;
  for (const OnnxValue& state : states_) states.push_back(state.name);
  const std::string all = Node("Concat", states, {{"axis", std::int64_t{1}}});
  Node("Reshape", {all, Integers({0, 1, memory_})}, {}, "recurrent_out");
  OnnxGraph::AddOutput({"recurrent_out", OnnxType::kFloat, {1, memory_}, "for the next step"});
}

}  // namespace murmurate
