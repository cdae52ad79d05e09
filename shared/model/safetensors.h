// safetensors: u64 header size, JSON header, raw little-endian bytes. Read here with every size
// checked (header <= 16 MiB, no overlap, no hole), written so that other tools open it. Numbers are
// float32; tensors of other types are refused, or named and left alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "murmurate/status.h"

namespace murmurate {

struct NamedTensor {
  std::string name;
  std::vector<int> shape;
  std::span<const float> values;  ///< into SafetensorsFile::storage after Parse
};

/// A tensor whose numbers are not read.
struct OtherTensor {
  std::string name, type;  ///< "F16"
  std::vector<int> shape;
};

struct SafetensorsFile {
  std::map<std::string, std::string> metadata;
  std::vector<NamedTensor> tensors;
  std::vector<OtherTensor> others;  ///< not float32
  std::vector<float> storage;

  const NamedTensor* Find(const std::string& name) const;
};

/// The bytes of a file. Tensors are written in the given order, 64-byte aligned by header padding.
std::string FormatSafetensors(const std::map<std::string, std::string>& metadata,
                              std::span<const NamedTensor> tensors);

/// OtherTypes selects how tensors that are not float32 are handled: our own files have none,
/// others' may.
enum class OtherTypes : std::uint8_t { kRefuse, kName };

/// Never reads outside `bytes`; the status names the tensor and what is wrong with it.
Result<SafetensorsFile> ParseSafetensors(std::span<const std::byte> bytes,
                                         OtherTypes others = OtherTypes::kRefuse);

/// Whole files: write to `PATH.tmp-THREAD`, fsync, rename; so a reader sees the old file or the new
/// one, and of several threads that write one path, the last.
Status WriteFileAtomically(const std::string& path, std::span<const std::byte> bytes);
Result<std::string> ReadFile(const std::string& path, std::size_t max_bytes);

}  // namespace murmurate
