#include "shared/model/weights_file.h"

#include <algorithm>
#include <cmath>

#include "shared/core/check.h"
#include "shared/model/parameter_layout.h"
#include "shared/model/policy_and_value.h"
#include "shared/model/safetensors.h"
#include "shared/model/text.h"

namespace murmurate {
namespace {

constexpr char kSpecKey[] = "murmurate.spec";
constexpr char kVersionKey[] = "murmurate.version";
constexpr char kStepsKey[] = "murmurate.steps";
constexpr std::size_t kMaxFileBytes = (std::size_t{1} << 30) + (32u << 20);

Result<std::string> Metadata(const SafetensorsFile& file, const std::string& key) {
  const auto found = file.metadata.find(key);
  if (found == file.metadata.end()) {
    return InvalidData("the metadata of the weights file lack " + Quote(key) +
                       ": use a file that murmurate wrote");
  }
  return found->second;
}

Status ReadNumber(const SafetensorsFile& file, const std::string& key, std::uint64_t* number) {
  Result<std::string> text = Metadata(file, key);
  if (!text.ok()) return text.status();
  const auto count = ParseCount(*text, UINT64_MAX);
  if (!count) {
    return InvalidData("the metadata of the weights file have " + Quote(*text) + " for " +
                       Quote(key) + " where a whole number was expected");
  }
  *number = *count;
  return Status();
}

Status Fill(const TensorSlot& slot, const NamedTensor& tensor, AlignedFloats* parameters) {
  const std::string where = "tensor " + Quote(slot.name) + " of the weights file ";
  if (tensor.shape != slot.shape) {
    return InvalidData(where + "has the shape " + ShapeText(tensor.shape) +
                       " where the spec in the same file makes it " + ShapeText(slot.shape));
  }
  for (const float value : tensor.values) {
    if (!std::isfinite(value)) {
      return InvalidData(where + "holds a number that is not finite: use an earlier file");
    }
  }
  std::copy(tensor.values.begin(), tensor.values.end(), parameters->data() + slot.offset);
  return Status();
}

/// Every tensor of the layout that the file must have, and no other.
Status FillAll(const SafetensorsFile& file, const ParameterLayout& layout,
               AlignedFloats* parameters) {
  std::map<std::string, const NamedTensor*> by_name;
  for (const NamedTensor& tensor : file.tensors) by_name[NewTensorName(tensor.name)] = &tensor;
  const bool published_only =
      std::none_of(layout.tensors.begin(), layout.tensors.end(), [&](const TensorSlot& slot) {
        return slot.section == Section::kLearner && by_name.contains(slot.name);
      });
  for (const TensorSlot& slot : layout.tensors) {
    if (slot.section == Section::kLearner && published_only) continue;
    const auto found = by_name.find(slot.name);
    if (found == by_name.end()) {
      return InvalidData("the weights file lacks the tensor " + Quote(slot.name) +
                         " that its spec asks for: it is damaged");
    }
    MURMURATE_RETURN_IF_ERROR(Fill(slot, *found->second, parameters));
    by_name.erase(found);
  }
  if (by_name.empty()) return Status();
  return InvalidData("the weights file has the tensor " + Quote(by_name.begin()->first) +
                     " that its spec does not know: it is damaged");
}

}  // namespace

ModelSpec PublishedSpec(ModelSpec spec) {
  if (spec.spaces.privileged.kind == Space::Kind::kNone) return spec;
  spec.spaces.privileged = {};
  for (NetworkSpec& network : spec.networks) {
    network.reads_privileged = false;
    std::erase_if(network.encoders,
                  [](const InputEncoder& encoder) { return IsPrivileged(encoder.input); });
  }
  return spec;
}

WeightsFile Published(const WeightsFile& file) {
  WeightsFile published{PublishedSpec(file.spec), file.version, file.steps, {}};
  const ParameterLayout from(file.spec), to(published.spec);
  published.parameters = AlignedFloats(to.total);
  published.spec_hash = published.spec.Hash();
  // The statistics of privileged numbers are the last ones (row_space.h).
  for (const TensorSlot& slot : to.tensors)
    if (slot.section != Section::kLearner)
      std::copy_n(file.parameters.data() + from.Find(slot.name).offset, slot.count,
                  published.parameters.data() + slot.offset);
  return published;
}

std::string FormatWeightsFile(const WeightsFile& file, bool published_only) {
  if (published_only && file.spec.spaces.privileged.kind != Space::Kind::kNone)
    return FormatWeightsFile(Published(file), true);
  const ParameterLayout layout(file.spec);
  MURMURATE_CHECK(file.parameters.size() == layout.total, "the block has the spec's layout");
  std::vector<NamedTensor> tensors;
  for (const TensorSlot& slot : layout.tensors) {
    if (published_only && slot.section == Section::kLearner) continue;
    tensors.push_back({slot.name, slot.shape, {file.parameters.data() + slot.offset, slot.count}});
  }
  return FormatSafetensors({{kSpecKey, file.spec.ToText()},
                            {kVersionKey, std::to_string(file.version)},
                            {kStepsKey, std::to_string(file.steps)}},
                           tensors);
}

Result<WeightsFile> ParseWeightsFile(std::span<const std::byte> bytes) {
  Result<SafetensorsFile> tensors = ParseSafetensors(bytes);
  if (!tensors.ok()) return tensors.status();
  Result<std::string> text = Metadata(*tensors, kSpecKey);
  if (!text.ok()) return text.status();
  Result<ModelSpec> spec = ModelSpec::ParseAny(*text);
  if (!spec.ok()) return spec.status();
  WeightsFile file;
  file.spec = *spec;
  file.spec_hash = Sha256(*text);
  MURMURATE_RETURN_IF_ERROR(ReadNumber(*tensors, kVersionKey, &file.version));
  MURMURATE_RETURN_IF_ERROR(ReadNumber(*tensors, kStepsKey, &file.steps));
  const ParameterLayout layout(file.spec);
  // A spec may ask for far more than the file holds: nothing is allocated before that is known.
  if (tensors->storage.size() + 16 * layout.tensors.size() < layout.published.count) {
    return InvalidData("the weights file has " + std::to_string(tensors->storage.size()) +
                       " numbers where its spec asks for " +
                       std::to_string(layout.published.count) + ": it is cut off or damaged");
  }
  file.parameters = AlignedFloats(layout.total);
  MURMURATE_RETURN_IF_ERROR(FillAll(*tensors, layout, &file.parameters));
  return file;
}

Result<WeightsFile> ReadWeightsFile(const std::string& path) {
  Result<std::string> bytes = ReadFile(path, kMaxFileBytes);
  if (!bytes.ok()) return bytes.status();
  Result<WeightsFile> file = ParseWeightsFile(std::as_bytes(std::span<const char>(*bytes)));
  if (file.ok()) return file;
  return Status(file.status().code(), path + ": " + file.status().message());
}

}  // namespace murmurate
