// ProtobufWriter: writes one message in the wire format of Protocol Buffers: what a file of ONNX
// consists of. Fields lie in the order of the calls; a repeated field is several calls. Numbers of
// the other widths and groups are not needed. The format:
// https://protobuf.dev/programming-guides/encoding
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace murmurate {

class ProtobufWriter {
 public:
  /// A varint: int32, int64, bool and enum fields. `field`: 1 or above.
  void Integer(int field, std::int64_t value);
  /// A float field: 4 bytes, little-endian.
  void Float(int field, float value);
  /// A string or bytes field.
  void Text(int field, std::string_view bytes);
  /// A field of a message type.
  void Message(int field, const ProtobufWriter& message) { Text(field, message.bytes_); }
  /// A bytes field with numbers as they lie in memory (little-endian).
  void Numbers(int field, std::span<const std::byte> numbers);

  /// The message so far.
  const std::string& bytes() const { return bytes_; }

 private:
  void Varint(std::uint64_t value);
  void Tag(int field, int wire_type);

  std::string bytes_;
};

}  // namespace murmurate
