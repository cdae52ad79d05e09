#include "shared/model/weights_match.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include "shared/core/check.h"
#include "shared/model/parameter_layout.h"
#include "shared/model/policy_and_value.h"
#include "shared/model/text.h"

namespace murmurate {
namespace {

std::string SizesText(const std::vector<int>& shape) {
  std::string text;
  for (const int size : shape) {
    if (!text.empty()) text += ' ';
    text += std::to_string(size);
  }
  return shape.empty() ? "a single number" : text;
}

/// A few of `names`, "and N more".
template <typename Tensors>
std::string SomeOf(const Tensors& tensors) {
  constexpr std::size_t kMost = 4;
  std::string text;
  std::size_t shown = 0;
  for (const auto& tensor : tensors) {
    if (shown == kMost) break;
    text += (shown++ > 0 ? ", " : "") + tensor.name + ' ' + SizesText(tensor.shape);
  }
  if (tensors.size() > shown) text += " and " + std::to_string(tensors.size() - shown) + " more";
  return text.empty() ? "nothing" : text;
}

Status CheckNumbers(const TensorSlot& slot, std::span<const float> values) {
  if (!std::all_of(values.begin(), values.end(), [](float x) { return std::isfinite(x); }))
    return InvalidData("tensor " + Quote(slot.name) +
                       " holds a number that is not finite; use an earlier file");
  const bool mean = slot.name.ends_with(".mean");
  if (slot.section == Section::kStatistics && !mean &&
      std::any_of(values.begin(), values.end(), [](float x) { return x < 0; }))
    return InvalidData("tensor " + Quote(slot.name) +
                       " holds a number below 0, so these are no statistics; use an earlier file");
  return Status();
}

class Matcher {
 public:
  Matcher(const SafetensorsFile& file, const ParameterLayout& layout)
      : file_(file), layout_(layout) {
    for (const NamedTensor& tensor : file.tensors) tensors_[NewTensorName(tensor.name)] = &tensor;
    for (const OtherTensor& tensor : file.others) others_[NewTensorName(tensor.name)] = &tensor;
    statistics_ = std::all_of(layout.tensors.begin(), layout.tensors.end(), [&](const auto& slot) {
      return slot.section != Section::kStatistics || Fits(slot);
    });
  }

  Result<WeightsMatch> Match() {
    match_.tensors = layout_.tensors.size();
    for (const TensorSlot& slot : layout_.tensors) MURMURATE_RETURN_IF_ERROR(Judge(slot));
    for (const auto& [name, tensor] : tensors_) match_.unused.push_back(tensor->name);
    for (const auto& [name, tensor] : others_)
      match_.unused.push_back(tensor->name + " (" + tensor->type + ')');
    if (!match_.taken.empty()) return std::move(match_);
    return InvalidData("no tensor has the name and the shape of one of the model's: the file has " +
                       SomeOf(file_.tensors) + ", the model " + SomeOf(layout_.tensors) +
                       "; rename or convert its tensors, or begin without it");
  }

 private:
  bool Fits(const TensorSlot& slot) const {
    const auto found = tensors_.find(slot.name);
    return found != tensors_.end() && found->second->shape == slot.shape;
  }

  /// Takes the slot's tensor out of those that may be unused; statistics that fit but are not taken
  /// stay there.
  Status Judge(const TensorSlot& slot) {
    match_.numbers += slot.count;
    const auto found = tensors_.find(slot.name);
    if (found == tensors_.end()) return JudgeOther(slot);
    const NamedTensor& tensor = *found->second;
    if (tensor.shape != slot.shape) {
      Reshaped(slot, tensor.shape);
    } else if (slot.section == Section::kStatistics && !statistics_) {
      return Status();
    } else {
      MURMURATE_RETURN_IF_ERROR(CheckNumbers(slot, tensor.values));
      match_.taken.push_back({slot.offset, tensor.values});
      match_.taken_numbers += slot.count;
    }
    tensors_.erase(found);
    return Status();
  }

  Status JudgeOther(const TensorSlot& slot) {
    const auto found = others_.find(slot.name);
    if (found == others_.end()) {
      match_.missing.push_back(slot.name);
      return Status();
    }
    const OtherTensor& tensor = *found->second;
    if (tensor.shape == slot.shape)
      return InvalidData("tensor " + Quote(tensor.name) + " has the type " + Quote(tensor.type) +
                         " where F32 was expected; convert it to float32, or leave it out");
    Reshaped(slot, tensor.shape);
    others_.erase(found);
    return Status();
  }

  void Reshaped(const TensorSlot& slot, const std::vector<int>& shape) {
    match_.reshaped.push_back(slot.name + " (file " + SizesText(shape) + ", model " +
                              SizesText(slot.shape) + ')');
  }

  const SafetensorsFile& file_;
  const ParameterLayout& layout_;
  std::map<std::string, const NamedTensor*> tensors_;
  std::map<std::string, const OtherTensor*> others_;
  bool statistics_;  ///< all of them fit
  WeightsMatch match_;
};

}  // namespace

void WeightsMatch::CopyTo(std::span<float> parameters) const {
  for (const Taken& tensor : taken) {
    MURMURATE_CHECK(tensor.offset + tensor.values.size() <= parameters.size(),
                    "another layout's parameters");
    std::copy(tensor.values.begin(), tensor.values.end(), parameters.data() + tensor.offset);
  }
}

Result<WeightsMatch> MatchWeights(const SafetensorsFile& file, const ParameterLayout& layout) {
  return Matcher(file, layout).Match();
}

}  // namespace murmurate
