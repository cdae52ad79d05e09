#include "shared/model/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>

#include "shared/core/check.h"
#include "shared/model/header_reader.h"
#include "shared/model/text.h"

namespace murmurate {
namespace {

static_assert(std::endian::native == std::endian::little, "the format is little-endian");

constexpr std::size_t kSizeBytes = 8;
constexpr std::size_t kAlignment = 64;
constexpr std::uint64_t kMaxHeaderBytes = 16u << 20;
constexpr char kFloat32[] = "F32";

std::string JsonString(std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string json = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      json += {'\\', c};
    } else if (static_cast<unsigned char>(c) < 0x20) {
      json += {'\\', 'u', '0', '0', kHex[c >> 4 & 15], kHex[c & 15]};
    } else {
      json += c;
    }
  }
  return json + "\"";
}

std::string FormatHeader(const std::map<std::string, std::string>& metadata,
                         std::span<const NamedTensor> tensors) {
  std::string header = "{\"__metadata__\":{";
  const char* comma = "";
  for (const auto& [key, value] : metadata) {
    header += comma;
    header += JsonString(key) + ":" + JsonString(value);
    comma = ",";
  }
  header += "}";
  std::size_t begin = 0;
  for (const NamedTensor& tensor : tensors) {
    header += ',';
    header += JsonString(tensor.name) + ":{\"dtype\":\"F32\",\"shape\":[";
    for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
      if (i > 0) header += ',';
      header += std::to_string(tensor.shape[i]);
    }
    const std::size_t end = begin + tensor.values.size_bytes();
    header += "],\"data_offsets\":[" + std::to_string(begin) + "," + std::to_string(end) + "]}";
    begin = end;
  }
  header += "}";
  while ((kSizeBytes + header.size()) % kAlignment != 0) header += ' ';
  return header;
}

Status BadTensor(const HeaderTensor& tensor, const std::string& what) {
  return InvalidData("tensor " + Quote(tensor.name) + " of the safetensors data " + what);
}

/// The bytes that `tensor` must take; a status when its type or shape cannot be used.
Result<std::uint64_t> BytesOf(const HeaderTensor& tensor, OtherTypes others) {
  const bool read = tensor.dtype == kFloat32;
  if (!read && others == OtherTypes::kRefuse) {
    return BadTensor(tensor, "has the type " + Quote(tensor.dtype) +
                                 " where F32 was expected: convert it to float32");
  }
  std::uint64_t bytes = sizeof(float);
  for (const std::uint64_t size : tensor.shape) {
    if (size > std::numeric_limits<int>::max()) {
      return BadTensor(tensor, "has a dimension of " + std::to_string(size) +
                                   " where at most 2147483647 was expected");
    }
    if (read && __builtin_mul_overflow(bytes, size, &bytes)) {
      return BadTensor(tensor, "has a shape with more numbers than memory can hold");
    }
  }
  return read ? bytes : tensor.end - tensor.begin;
}

Status CheckNames(const std::vector<HeaderTensor>& tensors) {
  std::vector<std::string_view> names;
  for (const HeaderTensor& tensor : tensors) names.push_back(tensor.name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice == names.end()) return Status();
  return InvalidData("tensor " + Quote(*twice) +
                     " occurs twice in the safetensors header: each name once was expected");
}

/// `tensors` sorted by place: each must begin where the one before ended, the last end with the
/// data.
Status CheckOffsets(const std::vector<HeaderTensor>& tensors, std::uint64_t data_bytes,
                    OtherTypes others) {
  std::uint64_t next = 0;
  for (const HeaderTensor& tensor : tensors) {
    Result<std::uint64_t> bytes = BytesOf(tensor, others);
    if (!bytes.ok()) return bytes.status();
    std::string place = "[";
    place += std::to_string(tensor.begin) + "," + std::to_string(tensor.end) + "]";
    if (tensor.begin != next) {
      return BadTensor(tensor, std::string(tensor.begin < next ? "overlaps the one before it"
                                                               : "leaves a hole before it") +
                                   ": data_offsets " + place + " where it must begin at " +
                                   std::to_string(next));
    }
    if (tensor.end > data_bytes) {
      return BadTensor(tensor, "has data_offsets " + place + " but the data end at byte " +
                                   std::to_string(data_bytes) + ": the file is cut off");
    }
    if (tensor.end < tensor.begin || tensor.end - tensor.begin != *bytes) {
      return BadTensor(tensor, "has data_offsets " + place + " but its shape takes " +
                                   std::to_string(*bytes) + " bytes");
    }
    next = tensor.end;
  }
  if (next == data_bytes) return Status();
  return InvalidData("the safetensors data have " + std::to_string(data_bytes - next) +
                     " bytes after the last tensor where none were expected");
}

Result<std::string_view> HeaderText(std::string_view bytes) {
  std::uint64_t size = 0;
  if (bytes.size() < kSizeBytes) {
    return InvalidData("the safetensors data have " + std::to_string(bytes.size()) +
                       " bytes where at least 8 were expected: the file is cut off");
  }
  std::memcpy(&size, bytes.data(), kSizeBytes);
  if (size > kMaxHeaderBytes) {
    return InvalidData("the safetensors header claims " + std::to_string(size) +
                       " bytes where at most 16777216 were expected: this is no such file");
  }
  if (size > bytes.size() - kSizeBytes) {
    return InvalidData("the safetensors header claims " + std::to_string(size) + " bytes but " +
                       std::to_string(bytes.size() - kSizeBytes) + " follow: the file is cut off");
  }
  return bytes.substr(kSizeBytes, size);
}

/// The numbers one tensor after the other: tensors of other types may lie at any byte.
void StoreTensors(std::string_view data, std::vector<HeaderTensor> found, SafetensorsFile* file) {
  std::size_t bytes = 0;
  for (const HeaderTensor& tensor : found) {
    if (tensor.dtype == kFloat32) bytes += tensor.end - tensor.begin;
  }
  file->storage.resize(bytes / sizeof(float));
  float* next = file->storage.data();
  for (HeaderTensor& tensor : found) {
    const std::vector<int> shape(tensor.shape.begin(), tensor.shape.end());
    if (tensor.dtype != kFloat32) {
      file->others.push_back({std::move(tensor.name), std::move(tensor.dtype), shape});
      continue;
    }
    const std::size_t size = tensor.end - tensor.begin;
    if (size > 0) std::memcpy(next, data.data() + tensor.begin, size);
    file->tensors.push_back({std::move(tensor.name), shape, {next, size / sizeof(float)}});
    next += size / sizeof(float);
  }
}

}  // namespace

const NamedTensor* SafetensorsFile::Find(const std::string& name) const {
  for (const NamedTensor& tensor : tensors) {
    if (tensor.name == name) return &tensor;
  }
  return nullptr;
}

std::string FormatSafetensors(const std::map<std::string, std::string>& metadata,
                              std::span<const NamedTensor> tensors) {
  const std::string header = FormatHeader(metadata, tensors);
  const std::uint64_t size = header.size();
  std::string bytes(reinterpret_cast<const char*>(&size), kSizeBytes);
  bytes += header;
  for (const NamedTensor& tensor : tensors) {
    bytes.append(reinterpret_cast<const char*>(tensor.values.data()), tensor.values.size_bytes());
  }
  return bytes;
}

Result<SafetensorsFile> ParseSafetensors(std::span<const std::byte> bytes, OtherTypes others) {
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  Result<std::string_view> header = HeaderText(all);
  if (!header.ok()) return header.status();
  SafetensorsFile file;
  std::vector<HeaderTensor> found;
  MURMURATE_RETURN_IF_ERROR(HeaderReader(*header).Read(&found, &file.metadata));
  MURMURATE_RETURN_IF_ERROR(CheckNames(found));
  std::stable_sort(found.begin(), found.end(), [](const HeaderTensor& a, const HeaderTensor& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  const std::string_view data = all.substr(kSizeBytes + header->size());
  MURMURATE_RETURN_IF_ERROR(CheckOffsets(found, data.size(), others));
  StoreTensors(data, std::move(found), &file);
  return file;
}

}  // namespace murmurate
