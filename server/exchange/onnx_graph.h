// OnnxGraph: a graph of ONNX operators that is put together node by node, and its file: ir_version
// 7, operator set 13, which onnxruntime 1.8 and later, Unity's Sentis and Unreal's NNE read. The
// messages and their field numbers are those of onnx/onnx.proto (IR version 7).
//
// Values are known by name. Inputs and outputs have a dynamic first axis named "batch".
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "server/metrics/protobuf_message.h"

namespace murmurate {

/// TensorProto.DataType
enum class OnnxType : std::uint8_t { kFloat = 1, kUint8 = 2, kInt32 = 6, kInt64 = 7, kBool = 9 };

/// An input or output of the whole graph.
struct OnnxValue {
  std::string name;
  OnnxType type = OnnxType::kFloat;
  std::vector<int> shape;  ///< behind the batch
  std::string meaning;     ///< its doc_string
  bool has_batch = true;   ///< false: `shape` is all of it
};

struct OnnxAttribute {
  std::string name;
  std::variant<std::int64_t, std::vector<std::int64_t>> value;
};

class OnnxGraph {
 public:
  virtual ~OnnxGraph() = default;

  /// Each name once. A graph for a program with conventions of its own may make the value of that
  /// name from another input, and another output from a value (unity_graph.h).
  virtual void AddInput(const OnnxValue& input);
  /// A node or an input has made a value of its name.
  virtual void AddOutput(const OnnxValue& output);

  /// A constant; gives back its name. `values` are as many as `shape` says, with no axis for the
  /// batch.
  std::string Floats(const std::string& name, const std::vector<int>& shape,
                     std::span<const float> values);
  /// One number, under a name that the graph chooses.
  std::string Number(float value);
  /// Integers in a row, under a name that the graph chooses.
  std::string Integers(const std::vector<std::int64_t>& values);

  /// Adds a node of one output and gives back the output's name: `output`, or one that the graph
  /// chooses when that is empty.
  std::string Node(std::string_view type, const std::vector<std::string>& inputs,
                   const std::vector<OnnxAttribute>& attributes = {},
                   const std::string& output = "");
  /// A node of `count` outputs, whose names the graph chooses.
  std::vector<std::string> Nodes(std::string_view type, const std::vector<std::string>& inputs,
                                 const std::vector<OnnxAttribute>& attributes, int count);

  /// The bytes of a .onnx file with what has been added. `metadata`: its metadata_props.
  std::string File(const std::map<std::string, std::string>& metadata) const;

 private:
  std::string NewName(std::string_view stem);
  void AddNode(std::string_view type, const std::vector<std::string>& inputs,
               const std::vector<std::string>& outputs,
               const std::vector<OnnxAttribute>& attributes);

  ProtobufMessage nodes_, constants_, inputs_, outputs_;  ///< fields of a GraphProto
  int named_ = 0;
};

}  // namespace murmurate
