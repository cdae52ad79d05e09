// PackedSteps: the layers of one version of a policy, as Policy runs them: what to call, with
// weights copied into the order in which the kernels read them.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "shared/compute/layer_kernels.h"
#include "shared/compute/window.h"
#include "shared/core/aligned_floats.h"
#include "shared/model/model_spec.h"
#include "shared/model/network_plan.h"
#include "shared/model/parameter_layout.h"

namespace murmurate {

/// PackedTensor is a tensor's position in the policy section and its position and layout in the
/// packed block.
struct PackedTensor {
  enum class Form : std::uint8_t {
    kAsItIs,
    kTransposed,  ///< a product of few columns: one dot product each
    kPanels,      ///< packed_weight.h: a large one, that streams through the cache
  };
  Form form = Form::kAsItIs;
  int depth = 1, columns = 0;
  std::size_t source = 0, place = 0;  ///< floats
  std::size_t count() const { return static_cast<std::size_t>(depth) * columns; }
};

struct LayerOp;

struct PolicyStep {
  Layer::Kind kind = {};
  const LayerOp* op = nullptr;
  bool takes_rows_apart = false;  ///< LayerForm::takes_rows_apart, or LayerOp::passes
  int inputs = 0, outputs = 0;    ///< numbers of one row that come and go
  Epilogue epilogue = Epilogue::kNone;
  Window window;
  std::array<PackedTensor, 4> tensors;  ///< in the order of LayerForm::tensors
  int state = 0;                        ///< recurrent: its first float in an agent's state
};

struct PackedSteps {
  PackedSteps(const ModelSpec& spec, KernelSet set);

  /// `numbers` of the policy section, from number `first` of it on.
  void Pack(std::size_t first, std::span<const float> numbers);
  /// The whole section again, as it was packed: packing only changes the order.
  void Unpack(std::span<float> policy) const;
  const float* data(const PackedTensor& tensor) const { return block.data() + tensor.place; }

  const LayerKernels* const kernels;
  NetworkPlan plan;
  std::vector<std::vector<PolicyStep>> inputs;  ///< of each input of the plan
  std::vector<PolicyStep> trunk;                ///< and the head, last
  AlignedFloats block;
  PackedTensor deviations;  ///< free log deviations, if columns > 0
  int widest = 0;           ///< numbers of one row between two steps, at most
  int rows_at_once = 1;     ///< that stay in the cache between two steps

 private:
  void AddSteps(const ParameterLayout& layout, std::span<const PlannedLayer> layers,
                std::vector<PolicyStep>* steps);
  void AddTensor(const ParameterLayout& layout, const std::string& name, Packing packing,
                 PackedTensor* tensor);
  template <typename Visit>
  void VisitRuns(std::size_t first, std::size_t end, Visit visit) const;

  std::vector<PackedTensor> tensors_;  // all of them
  std::size_t size_ = 0;
};

}  // namespace murmurate
