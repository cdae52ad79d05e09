#include "server/exchange/foreign_tensors.h"

#include <algorithm>
#include <set>
#include <utility>

#include "server/exchange/torch_export.h"
#include "server/exchange/torch_layout.h"
#include "shared/core/check.h"
#include "shared/model/parameter_layout.h"
#include "shared/model/text.h"

namespace murmurate {
namespace {

constexpr char kSpecKey[] = "murmurate.spec";

/// A few of the names, for a message.
template <typename Tensors>
std::string SomeOf(const Tensors& tensors) {
  constexpr std::size_t kMost = 6;
  std::string text;
  for (std::size_t i = 0; i < std::min(kMost, tensors.size()); ++i)
    text += (i > 0 ? ", " : "") + tensors[i].name;
  if (tensors.size() > kMost) text += " and " + std::to_string(tensors.size() - kMost) + " more";
  return text.empty() ? "none" : text;
}

class Converter {
 public:
  Converter(const SafetensorsFile& theirs, const ModelSpec& spec, TensorLayout layout,
            const NameMap& names)
      : theirs_(theirs),
        names_(names),
        layout_(spec),
        wanted_(layout == TensorLayout::kPytorch ? TorchLayout(spec, layout_) : OwnLayout(layout_)),
        block_(layout_.total) {}

  Result<SafetensorsFile> Convert() {
    for (const PlacedTensor& tensor : wanted_) MURMURATE_RETURN_IF_ERROR(Take(tensor));
    MURMURATE_RETURN_IF_ERROR(CheckLines());
    SafetensorsFile ours;
    ours.metadata = theirs_.metadata;
    const auto text = ours.metadata.find(kTorchModelKey);
    if (text != ours.metadata.end()) ours.metadata.emplace(kSpecKey, text->second);
    ours.storage = std::move(block_);
    for (const TensorSlot& slot : layout_.tensors)
      if (taken_slots_.contains(slot.offset))
        ours.tensors.push_back(
            {slot.name, slot.shape, std::span(ours.storage).subspan(slot.offset, slot.count)});
    AddOthers(&ours);
    return ours;
  }

 private:
  Status Take(const PlacedTensor& tensor) {
    const NameMap::Line* const line = names_.Find(tensor.name);
    const std::string name = names_.TheirName(tensor.name);
    if (const NamedTensor* const found = theirs_.Find(name)) return Put(tensor, *found, line);
    const auto other = std::ranges::find(theirs_.others, name, &OtherTensor::name);
    if (other == theirs_.others.end()) return {};
    used_.insert(name);
    return InvalidData("tensor " + Quote(name) + " has the type " + Quote(other->type) +
                       " where F32 was expected; convert it to float32, or leave it out");
  }

  Status Put(const PlacedTensor& tensor, const NamedTensor& from, const NameMap::Line* line) {
    if (from.shape != tensor.shape) {
      if (line == nullptr) return {};
      return InvalidArgument("line " + std::to_string(line->number) + ": " + Quote(from.name) +
                             " has the shape " + ShapeText(from.shape) + " where " +
                             Quote(tensor.name) + " has " + ShapeText(tensor.shape) +
                             "; give [model] layers its sizes, or map another tensor");
    }
    used_.insert(from.name);
    for (std::size_t i = 0; i < from.values.size(); ++i) {
      float& number = block_[tensor.places[i]];
      number = i < tensor.added ? number + from.values[i] : from.values[i];
    }
    for (const TensorSlot& slot : layout_.tensors)
      if (Holds(slot, tensor.places.back())) taken_slots_.insert(slot.offset);
    return {};
  }
  static bool Holds(const TensorSlot& slot, std::size_t place) {
    return place >= slot.offset && place - slot.offset < slot.count;
  }

  /// Each line is of some tensor, which the file has.
  Status CheckLines() const {
    for (const NameMap::Line& line : names_.lines()) {
      const std::string where = "line " + std::to_string(line.number) + ": ";
      bool fits = false, found = false;
      for (const PlacedTensor& tensor : wanted_) {
        if (names_.Find(tensor.name) != &line) continue;
        fits = true;
        found |= used_.contains(names_.TheirName(tensor.name));
      }
      if (!fits)
        return InvalidArgument(where + "the model has no tensor " + Quote(line.ours) + "; it has " +
                               SomeOf(wanted_));
      if (!found)
        return InvalidArgument(where + "the file has no tensor " + Quote(line.theirs) +
                               "; it has " + SomeOf(theirs_.tensors));
    }
    return {};
  }

  /// What was not taken, by name; without its numbers.
  void AddOthers(SafetensorsFile* ours) const {
    std::set<std::string> wanted;
    for (const PlacedTensor& tensor : wanted_) wanted.insert(tensor.name);
    for (const NamedTensor& tensor : theirs_.tensors) {
      if (used_.contains(tensor.name)) continue;
      const bool another = wanted.contains(tensor.name) || IsOurs(tensor.name);
      ours->tensors.push_back(
          {tensor.name + (another ? " " + ShapeText(tensor.shape) : ""), tensor.shape, {}});
    }
    ours->others = theirs_.others;
  }
  bool IsOurs(const std::string& name) const {
    return std::ranges::count(layout_.tensors, name, &TensorSlot::name) > 0;
  }

  const SafetensorsFile& theirs_;
  const NameMap& names_;
  const ParameterLayout layout_;
  const std::vector<PlacedTensor> wanted_;
  std::vector<float> block_;
  std::set<std::size_t> taken_slots_;  ///< offsets
  std::set<std::string> used_;         ///< names of theirs
};

}  // namespace

TensorLayout LayoutOf(const SafetensorsFile& file, TensorLayout layout) {
  if (layout != TensorLayout::kAuto) return layout;
  const auto said = file.metadata.find(kLayoutKey);
  const bool torch = said != file.metadata.end() && said->second == kTorchLayout;
  return torch ? TensorLayout::kPytorch : TensorLayout::kMurmurate;
}

Result<SafetensorsFile> InOurLayout(const SafetensorsFile& theirs, const ModelSpec& spec,
                                    TensorLayout layout, const NameMap& names) {
  MURMURATE_CHECK(layout != TensorLayout::kAuto, "LayoutOf says which it is");
  return Converter(theirs, spec, layout, names).Convert();
}

}  // namespace murmurate
