#include "server/metrics/protobuf_message.h"

#include <gtest/gtest.h>

#include <array>

namespace murmurate {
namespace {

using namespace std::string_literals;

// The examples of https://protobuf.dev/programming-guides/encoding.
TEST(ProtobufMessage, WritesTheExamplesOfTheFormat) {
  ProtobufMessage one;
  one.Integer(1, 150);
  EXPECT_EQ(one.bytes(), "\x08\x96\x01"s);
  ProtobufMessage text;
  text.Bytes(2, "testing");
  EXPECT_EQ(text.bytes(), "\x12\x07testing"s);
  ProtobufMessage outer;
  outer.Message(3, one);
  EXPECT_EQ(outer.bytes(), "\x1a\x03\x08\x96\x01"s);
}

TEST(ProtobufMessage, WritesNumbersAtTheBorders) {
  ProtobufMessage numbers;
  numbers.Integer(1, 0);
  numbers.Integer(15, 127);
  numbers.Integer(16, 128);
  numbers.Integer(1, -1);
  EXPECT_EQ(numbers.bytes(),
            "\x08\x00"
            "\x78\x7f"
            "\x80\x01\x80\x01"
            "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"s);
}

TEST(ProtobufMessage, WritesFloatsAndRawNumbers) {
  ProtobufMessage numbers;
  numbers.Float(2, 1.0f);
  const std::array<float, 2> raw = {0.5f, -2.0f};
  numbers.Numbers(9, std::as_bytes(std::span(raw)));
  EXPECT_EQ(numbers.bytes(),
            "\x15\x00\x00\x80\x3f"
            "\x4a\x08\x00\x00\x00\x3f\x00\x00\x00\xc0"s);
}

TEST(ProtobufMessage, WritesALongText) {
  ProtobufMessage text;
  text.Bytes(1, std::string(300, 'x'));
  EXPECT_EQ(text.bytes(), "\x0a\xac\x02" + std::string(300, 'x'));
}

}  // namespace
}  // namespace murmurate
