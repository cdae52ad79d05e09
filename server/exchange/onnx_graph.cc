#include "server/exchange/onnx_graph.h"

#include <cctype>

#include "shared/core/check.h"

namespace murmurate {
namespace {

constexpr int kIrVersion = 7, kOperatorSet = 13;

ProtobufMessage ShapeOf(const OnnxValue& value) {
  ProtobufMessage all;
  if (value.has_batch) {
    ProtobufMessage batch;
    batch.Bytes(2, "batch");  // dim_param
    all.Message(1, batch);
  }
  for (const int size : value.shape) {
    ProtobufMessage one;
    one.Integer(1, size);  // dim_value
    all.Message(1, one);
  }
  return all;
}

/// A ValueInfoProto.
ProtobufMessage ValueInfo(const OnnxValue& value) {
  ProtobufMessage tensor;
  tensor.Integer(1, static_cast<std::int64_t>(value.type));
  tensor.Message(2, ShapeOf(value));
  ProtobufMessage type;
  type.Message(1, tensor);
  ProtobufMessage info;
  info.Bytes(1, value.name);
  info.Message(2, type);
  info.Bytes(3, value.meaning);
  return info;
}

/// A TensorProto.
ProtobufMessage Tensor(const std::string& name, OnnxType type, const std::vector<int>& shape,
                       std::span<const std::byte> numbers) {
  ProtobufMessage tensor;
  for (const int size : shape) tensor.Integer(1, size);
  tensor.Integer(2, static_cast<std::int64_t>(type));
  tensor.Bytes(8, name);
  tensor.Numbers(9, numbers);  // raw_data
  return tensor;
}

/// An AttributeProto.
ProtobufMessage Attribute(const OnnxAttribute& attribute) {
  constexpr int kInt = 2, kInts = 7;
  ProtobufMessage message;
  message.Bytes(1, attribute.name);
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
  ProtobufMessage node;
  for (const std::string& input : inputs) node.Bytes(1, input);
  for (const std::string& output : outputs) node.Bytes(2, output);
  node.Bytes(3, outputs.front());
  node.Bytes(4, type);
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
  ProtobufMessage name;
  name.Bytes(2, "murmurate");
  graph += name.bytes() + constants_.bytes() + inputs_.bytes() + outputs_.bytes();
  ProtobufMessage operators;
  operators.Bytes(1, "");
  operators.Integer(2, kOperatorSet);
  ProtobufMessage model;
  model.Integer(1, kIrVersion);
  model.Bytes(2, "murmurate");
  model.Bytes(7, graph);
  model.Message(8, operators);
  for (const auto& [key, value] : metadata) {
    ProtobufMessage entry;
    entry.Bytes(1, key);
    entry.Bytes(2, value);
    model.Message(14, entry);
  }
  return model.bytes();
}

}  // namespace murmurate
