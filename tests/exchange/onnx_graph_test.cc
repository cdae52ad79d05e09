#include "server/exchange/onnx_graph.h"

#include <gtest/gtest.h>

#include <array>

namespace murmurate {
namespace {

using namespace std::string_literals;

// y = x w, written down by hand from onnx.proto.
TEST(OnnxGraph, WritesAFileByteForByte) {
  OnnxGraph graph;
  graph.AddInput({"x", OnnxType::kFloat, {2}, "in"});
  const std::array<float, 2> w = {1.0f, 2.0f};
  graph.Node("Gemm", {"x", graph.Floats("w", {2, 1}, w)}, {{"transB", std::int64_t{1}}}, "y");
  graph.AddOutput({"y", OnnxType::kInt64, {}, ""});
  const std::string node =
      "\x0a\x01x"
      "\x0a\x01w"
      "\x12\x01y"
      "\x1a\x01y"
      "\x22\x04Gemm"
      "\x2a\x0d\x0a\x06transB\x18\x01\xa0\x01\x02"s;
  const std::string tensor =
      "\x08\x02\x08\x01\x10\x01\x42\x01w\x4a\x08\x00\x00\x80\x3f\x00\x00\x00\x40"s;
  const std::string input =
      "\x0a\x01x"
      "\x12\x13\x0a\x11\x08\x01\x12\x0d\x0a\x07\x12\x05"
      "batch\x0a\x02\x08\x02"
      "\x1a\x02in"s;
  const std::string output =
      "\x0a\x01y"
      "\x12\x0f\x0a\x0d\x08\x07\x12\x09\x0a\x07\x12\x05"
      "batch"
      "\x1a\x00"s;
  const auto field = [](char tag, const std::string& bytes) {
    return std::string{tag, static_cast<char>(bytes.size())} + bytes;
  };
  const std::string whole = field('\x0a', node) + field('\x12', "murmurate") +
                            field('\x2a', tensor) + field('\x5a', input) + field('\x62', output);
  ASSERT_LT(whole.size(), 128u);
  EXPECT_EQ(graph.File({{"k", "v"}}), "\x08\x07" + field('\x12', "murmurate") +
                                          field('\x3a', whole) +
                                          "\x42\x04\x0a\x00\x10\x0d\x72\x06\x0a\x01k\x12\x01v"s);
}

TEST(OnnxGraph, GivesNamesThatNoModelGives) {
  OnnxGraph graph;
  const std::string first = graph.Node("Relu", {"x"}), second = graph.Node("Relu", {first});
  EXPECT_EQ(first, "/relu_1");
  EXPECT_EQ(second, "/relu_2");
  EXPECT_EQ(graph.Nodes("Split", {second}, {}, 2),
            (std::vector<std::string>{"/split_3", "/split_4"}));
}

TEST(OnnxGraphDeath, RefusesAConstantOfAnotherShape) {
  OnnxGraph graph;
  const std::array<float, 2> values = {1.0f, 2.0f};
  EXPECT_DEATH(graph.Floats("w", {3}, values), "a constant has the numbers of its shape");
}

}  // namespace
}  // namespace murmurate
