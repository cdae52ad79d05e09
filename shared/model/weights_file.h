// The weights file: a safetensors file with the spec in its metadata. Checkpoints hold every tensor
// of the block; a policy file only what is published (policy and statistics), so it can be played.
#pragma once

#include <cstdint>
#include <string>

#include "murmurate/status.h"
#include "shared/core/aligned_floats.h"
#include "shared/model/model_spec.h"

namespace murmurate {

struct WeightsFile {
  ModelSpec spec;
  std::uint64_t version = 0;  ///< 0: unknown
  std::uint64_t steps = 0;    ///< learned from when it was written
  /// The whole flat block of `spec`; networks that a policy file lacks are zero.
  AlignedFloats parameters;
  Sha256Digest spec_hash = {};  ///< of the spec's text as it stands in the file that was read
};

std::string FormatWeightsFile(const WeightsFile& file, bool published_only);
Result<WeightsFile> ParseWeightsFile(std::span<const std::byte> bytes);
Result<WeightsFile> ReadWeightsFile(const std::string& path);

}  // namespace murmurate
