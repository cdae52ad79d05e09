#include "server/exchange/onnx_graph.h"

#include <cctype>

#include "shared/core/check.h"

namespace murmurate {
namespace {

constexpr int kIrVersion = 7, kOperatorSet = 13;

ProtobufWriter ShapeOf(const OnnxValue& value) {
  ProtobufWriter all;
  if (value.has_batch) {
    ProtobufWriter batch;
    batch.Text(2, "batch");  // dim_param
    all.Message(1, batch);
  }
  for (const int size : value.shape) {
    ProtobufWriter one;
    one.Integer(1, size);  // dim_value
    all.Message(1, one);
  }
  return all;
}

/// A ValueInfoProto.
ProtobufWriter ValueInfo(const OnnxValue& value) {
  ProtobufWriter tensor;
  tensor.Integer(1, static_cast<std::int64_t>(value.type));
  tensor.Message(2, ShapeOf(value));
  ProtobufWriter type;
  type.Message(1, tensor);
  ProtobufWriter info;
  info.Text(1, value.name);
  info.Message(2, type);
  info.Text(3, value.meaning);
  return info;
}

/// A TensorProto.
ProtobufWriter Tensor(const std::string& name, OnnxType type, const std::vector<int>& shape,
                      std::span<const std::byte> numbers) {
  ProtobufWriter tensor;
  for (const int size : shape) tensor.Integer(1, size);
  tensor.Integer(2, static_cast<std::int64_t>(type));
  tensor.Text(8, name);
  tensor.Numbers(9, numbers);  // raw_data
  return tensor;
}

/// An AttributeProto.
ProtobufWriter Attribute(const OnnxAttribute& attribute) {
  constexpr int kInt = 2, kInts = 7;
  ProtobufWriter message;
  message.Text(1, attribute.name);
  if (const auto* one = std::get_if<std::int64_t>(&attribute.value)) {
    message.Integer(3, *one);
    message.Integer(20, kInt);
    return message;
  }
  for (const std::int64_t number : std::get<std::vector<std::int64_t>>(attribute.value))
    message.Integer(8, number);
  message.Integer(20, kInts);
  return message;
}

}  // namespace

std::string OnnxGraph::NewName(std::string_view stem) {
  std::string name = "/";  // in no name that a model gives
  for (const char c : stem) name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return name + "_" + std::to_string(++named_);
}

void OnnxGraph::AddInput(const OnnxValue& input) { inputs_.Message(11, ValueInfo(input)); }

void OnnxGraph::AddOutput(const OnnxValue& output) { outputs_.Message(12, ValueInfo(output)); }

std::string OnnxGraph::Floats(const std::string& name, const std::vector<int>& shape,
                              std::span<const float> values) {
  std::size_t count = 1;
  for (const int size : shape) count *= static_cast<std::size_t>(size);
  MURMURATE_CHECK(count == values.size(), "a constant has the numbers of its shape");
  constants_.Message(5, Tensor(name, OnnxType::kFloat, shape, std::as_bytes(values)));
  return name;
}

std::string OnnxGraph::Number(float value) { return Floats(NewName("number"), {}, {&value, 1}); }

std::string OnnxGraph::Integers(const std::vector<std::int64_t>& values) {
  const std::string name = NewName("integers");
  constants_.Message(5, Tensor(name, OnnxType::kInt64, {static_cast<int>(values.size())},
                               std::as_bytes(std::span(values))));
  return name;
}

void OnnxGraph::AddNode(std::string_view type, const std::vector<std::string>& inputs,
                        const std::vector<std::string>& outputs,
                        const std::vector<OnnxAttribute>& attributes) {
  ProtobufWriter node;
  for (const std::string& input : inputs) node.Text(1, input);
  for (const std::string& output : outputs) node.Text(2, output);
  node.Text(3, outputs.front());
  node.Text(4, type);
  for (const OnnxAttribute& attribute : attributes) node.Message(5, Attribute(attribute));
  nodes_.Message(1, node);
}

std::string OnnxGraph::Node(std::string_view type, const std::vector<std::string>& inputs,
                            const std::vector<OnnxAttribute>& attributes,
                            const std::string& output) {
  std::string name = output.empty() ? NewName(type) : output;
  AddNode(type, inputs, {name}, attributes);
  return name;
}

std::vector<std::string> OnnxGraph::Nodes(std::string_view type,
                                          const std::vector<std::string>& inputs,
                                          const std::vector<OnnxAttribute>& attributes, int count) {
  std::vector<std::string> outputs;
  for (int i = 0; i < count; ++i) outputs.push_back(NewName(type));
  AddNode(type, inputs, outputs, attributes);
  return outputs;
}

std::string OnnxGraph::File(const std::map<std::string, std::string>& metadata) const {
  std::string graph = nodes_.bytes();
  ProtobufWriter name;
  name.Text(2, "murmurate");
  graph += name.bytes() + constants_.bytes() + inputs_.bytes() + outputs_.bytes();
  ProtobufWriter operators;
  operators.Text(1, "");
  operators.Integer(2, kOperatorSet);
  ProtobufWriter model;
  model.Integer(1, kIrVersion);
  model.Text(2, "murmurate");
  model.Text(7, graph);
  model.Message(8, operators);
  for (const auto& [key, value] : metadata) {
    ProtobufWriter entry;
    entry.Text(1, key);
    entry.Text(2, value);
    model.Message(14, entry);
  }
  return model.bytes();
}

}  // namespace murmurate
