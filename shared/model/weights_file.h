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

/// `published_only`: a policy file, of PublishedSpec where the spec's spaces have a privileged part.
std::string FormatWeightsFile(const WeightsFile& file, bool published_only);
/// The spec without the privileged observation: what a player needs of it.
ModelSpec PublishedSpec(ModelSpec spec);
/// What is published of `file`, in the layout of PublishedSpec; other networks are zero.
WeightsFile Published(const WeightsFile& file);
Result<WeightsFile> ParseWeightsFile(std::span<const std::byte> bytes);
Result<WeightsFile> ReadWeightsFile(const std::string& path);

}  // namespace murmurate
