// The files of a checkpoint as bytes: optimizer.safetensors, state.json and MANIFEST.json.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "murmurate/status.h"
#include "server/operate/checkpoint.h"

namespace murmurate {

constexpr char kWeightsName[] = "weights.safetensors";
constexpr char kOptimizerName[] = "optimizer.safetensors";
constexpr char kStateName[] = "state.json";
constexpr char kManifestName[] = "MANIFEST.json";
constexpr std::size_t kMaxManifestBytes = 16 << 10;

std::string FormatOptimizer(const SavedState& state);
std::string FormatState(const Checkpoint& checkpoint);
/// Fill what their file holds; messages do not name the file.
Status ParseOptimizer(std::string_view bytes, SavedState* state);
Status ParseState(std::string_view text, Checkpoint* checkpoint);

struct FileSeal {
  std::uint64_t size = 0;
  std::string sha256;  ///< hexadecimal
  friend bool operator==(const FileSeal&, const FileSeal&) = default;
};

struct Manifest {
  static constexpr std::uint64_t kFormat = 2;  ///< 1: the numbers of rates and files had other rows
  std::uint64_t step = 0;
  std::string spec;  ///< SHA-256 of the model's text, hexadecimal
  std::map<std::string, FileSeal> files;
  friend bool operator==(const Manifest&, const Manifest&) = default;
};

/// Its last member is the sum of the text before it; a text of one byte's difference is refused.
std::string FormatManifest(const Manifest& manifest);
Result<Manifest> ParseManifest(std::string_view text);

}  // namespace murmurate
