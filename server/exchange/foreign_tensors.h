// Tensors of other programs, in our layout and under our names: what `[model] initialize_from` takes
// after that (shared/model/weights_match.h). The way back of FormatTorch, and that of modules of
// other names by a NameMap.
#pragma once

#include <cstdint>
#include <span>

#include "murmurate/status.h"
#include "server/exchange/name_map.h"
#include "shared/core/enum_names.h"
#include "shared/model/model_spec.h"
#include "shared/model/safetensors.h"

namespace murmurate {

/// TensorLayout says how the numbers of a file's tensors lie.
enum class TensorLayout : std::uint8_t {
  kAuto,       ///< as the file's metadata say; without them kMurmurate
  kMurmurate,  ///< as parameter_layout.h
  kPytorch,    ///< as torch_layout.h
};
inline constexpr EnumName<TensorLayout> kTensorLayoutNames[] = {
    {TensorLayout::kAuto, "auto"},
    {TensorLayout::kMurmurate, "murmurate"},
    {TensorLayout::kPytorch, "pytorch"}};
constexpr std::span<const EnumName<TensorLayout>> NamesOf(TensorLayout) {
  return kTensorLayoutNames;
}

/// kMurmurate or kPytorch: `layout`, or for kAuto that of the file.
TensorLayout LayoutOf(const SafetensorsFile& file, TensorLayout layout);

/// The tensors of `theirs` that have the names of the model's, or those that `names` gives these, as
/// ours; biases that PyTorch keeps apart are added. Other tensors keep their names; one that a name
/// fits but no shape gets its shape behind its name, so that nothing takes it. `layout` is not
/// kAuto. kInvalidArgument ("line 3: ...") when a line of `names` fits no tensor of the model, or
/// names one that the file lacks or that has another shape. kInvalidData when a tensor is not
/// float32.
Result<SafetensorsFile> InOurLayout(const SafetensorsFile& theirs, const ModelSpec& spec,
                                    TensorLayout layout, const NameMap& names);

}  // namespace murmurate
