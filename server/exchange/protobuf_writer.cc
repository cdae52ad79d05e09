#include "server/exchange/protobuf_writer.h"

#include <bit>

#include "shared/core/check.h"

namespace murmurate {
namespace {

constexpr int kVarint = 0, kLength = 2, kFourBytes = 5;
static_assert(std::endian::native == std::endian::little, "numbers are written as they lie");

}  // namespace

void ProtobufWriter::Varint(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(0x80 | (value & 0x7f));
  bytes_ += static_cast<char>(value);
}

void ProtobufWriter::Tag(int field, int wire_type) {
  MURMURATE_CHECK(field >= 1, "fields count from 1");
  Varint(static_cast<std::uint64_t>(field) << 3 | static_cast<std::uint64_t>(wire_type));
}

void ProtobufWriter::Integer(int field, std::int64_t value) {
  Tag(field, kVarint);
  Varint(static_cast<std::uint64_t>(value));
}

void ProtobufWriter::Float(int field, float value) {
  Tag(field, kFourBytes);
  bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void ProtobufWriter::Text(int field, std::string_view bytes) {
  Tag(field, kLength);
  Varint(bytes.size());
  bytes_ += bytes;
}

void ProtobufWriter::Numbers(int field, std::span<const std::byte> numbers) {
  Text(field, {reinterpret_cast<const char*>(numbers.data()), numbers.size()});
}

}  // namespace murmurate
