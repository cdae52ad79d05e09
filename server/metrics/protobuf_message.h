// ProtobufMessage: the bytes of a Protocol Buffers message, field after field, as the wire format
// has them (https://protobuf.dev/programming-guides/encoding): what TensorBoard's events and
// files of ONNX consist of. Fields lie in the order of the calls, a repeated field is several calls,
// `field` is 1 or above. Strings are to be UTF-8.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace murmurate {

class ProtobufMessage {
 public:
  ProtobufMessage& Varint(int field, std::uint64_t value) {
    Key(field, 0);
    Append(value);
    return *this;
  }
  /// An int32, int64, bool or enum field.
  ProtobufMessage& Integer(int field, std::int64_t value) {
    return Varint(field, static_cast<std::uint64_t>(value));
  }
  ProtobufMessage& Double(int field, double value) {
    Key(field, 1);
    Fixed(std::bit_cast<std::uint64_t>(value), 8);
    return *this;
  }
  ProtobufMessage& Float(int field, float value) {
    Key(field, 5);
    Fixed(std::bit_cast<std::uint32_t>(value), 4);
    return *this;
  }
  /// A string, bytes, or the bytes of a message.
  ProtobufMessage& Bytes(int field, std::string_view value) {
    Key(field, 2);
    Append(value.size());
    bytes_ += value;
    return *this;
  }
  /// A bytes field with numbers as they lie in memory.
  ProtobufMessage& Numbers(int field, std::span<const std::byte> numbers) {
    static_assert(std::endian::native == std::endian::little);
    return Bytes(field, {reinterpret_cast<const char*>(numbers.data()), numbers.size()});
  }
  ProtobufMessage& Message(int field, const ProtobufMessage& value) {
    return Bytes(field, value.bytes());
  }
  ProtobufMessage& Doubles(int field, std::span<const double> values) {
    Key(field, 2);
    Append(8 * values.size());
    for (const double value : values) Fixed(std::bit_cast<std::uint64_t>(value), 8);
    return *this;
  }

  const std::string& bytes() const { return bytes_; }

 private:
  void Key(int field, unsigned type) { Append(static_cast<std::uint64_t>(field) << 3 | type); }
  void Append(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }
  void Fixed(std::uint64_t value, int count) {
    for (int i = 0; i < count; ++i) bytes_ += static_cast<char>(value >> (8 * i));
  }

  std::string bytes_;
};

}  // namespace murmurate
