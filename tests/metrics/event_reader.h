// Reads event files back as far as tests ask; the real TensorBoard reads them in python/tests.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "shared/model/safetensors.h"

namespace murmurate {

/// The fields of a Protocol Buffers message, those of one number in their order: the bytes of
/// strings and of numbers of a fixed size, a varint as decimal digits.
inline std::multimap<int, std::string> FieldsOf(std::string_view bytes) {
  std::multimap<int, std::string> fields;
  const auto varint = [&bytes] {
    std::uint64_t value = 0;
    for (int shift = 0; !bytes.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes[0]);
      bytes.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) break;
    }
    return value;
  };
  while (!bytes.empty()) {
    const std::uint64_t key = varint();
    std::string value;
    if (const auto type = key & 7; type == 0) {
      value = std::to_string(varint());
    } else {
      const std::size_t size = type == 1 ? 8 : type == 5 ? 4 : varint();
      value = bytes.substr(0, size);
      bytes.remove_prefix(value.size());
    }
    fields.emplace(static_cast<int>(key >> 3), std::move(value));
  }
  return fields;
}

/// The whole events of a file.
inline std::vector<std::string> ReadEvents(const std::string& path) {
  const std::string text = *ReadFile(path, 1 << 24);
  std::vector<std::string> events;
  for (std::size_t at = 0; at + 16 <= text.size();) {
    std::uint64_t length = 0;
    std::memcpy(&length, text.data() + at, 8);
    if (at + 16 + length > text.size()) break;
    events.push_back(text.substr(at + 12, length));
    at += 16 + length;
  }
  return events;
}

inline std::uint64_t StepIn(std::string_view event) {
  const auto fields = FieldsOf(event);
  const auto step = fields.find(2);
  return step == fields.end() ? 0 : std::stoull(step->second);
}

/// The values of an event by their tags, each as its message.
inline std::map<std::string, std::multimap<int, std::string>> ValuesIn(std::string_view event) {
  std::map<std::string, std::multimap<int, std::string>> values;
  const auto fields = FieldsOf(event);
  if (const auto summary = fields.find(5); summary != fields.end())
    for (const auto& [field, value] : FieldsOf(summary->second)) {
      auto parts = FieldsOf(value);
      values.emplace(parts.find(1)->second, std::move(parts));
    }
  return values;
}

template <typename T>
T NumberIn(std::string_view bytes, std::size_t index = 0) {
  T number;
  std::memcpy(&number, bytes.data() + index * sizeof(T), sizeof(T));
  return number;
}

}  // namespace murmurate
