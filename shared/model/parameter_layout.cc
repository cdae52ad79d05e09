#include "shared/model/parameter_layout.h"

#include "shared/core/check.h"
#include "shared/model/action_layout.h"
#include "shared/model/network_plan.h"

namespace murmurate {
namespace {

constexpr std::size_t kLineFloats = 16;  // 64 bytes

class Builder {
 public:
  Builder(ParameterLayout* layout) : layout_(layout) {}

  void Add(Section section, std::string name, std::vector<int> shape,
           FirstValue first = FirstValue::kZeros, int gate = 0) {
    std::size_t count = 1;
    for (const int size : shape) count *= static_cast<std::size_t>(size);
    layout_->tensors.push_back(
        {std::move(name), section, std::move(shape), next_, count, first, gate});
    next_ += (count + kLineFloats - 1) / kLineFloats * kLineFloats;
  }

  void AddLayer(Section section, const PlannedLayer& planned) {
    const int gate = planned.layer.recurrent() ? planned.layer.units : 0;
    for (PlannedTensor& tensor : planned.tensors())
      Add(section, std::move(tensor.name), std::move(tensor.shape), tensor.form->first, gate);
  }

  void AddLayers(Section section, const NetworkPlan& plan) {
    for (const PlannedInput& input : plan.inputs) {
      for (const PlannedLayer& layer : input.layers) AddLayer(section, layer);
    }
    for (const PlannedLayer& layer : plan.trunk) AddLayer(section, layer);
  }
  std::size_t end() const { return next_; }

 private:
  ParameterLayout* layout_;
  std::size_t next_ = 0;
};

}  // namespace

ParameterLayout::ParameterLayout(const ModelSpec& spec) {
  if (!spec.arrays.empty()) {
    LayArrays(spec.arrays);
    return;
  }
  const ActionLayout action(spec.spaces.action, spec.continuous);
  Builder builder(this);
  for (const NetworkSpec& network : spec.networks) {
    const Result<NetworkPlan> plan = PlanNetwork(spec, network.name);
    MURMURATE_CHECK(plan.ok(), plan.status().message().c_str());
    const Section section = network.published ? Section::kPublished : Section::kLearner;
    if (plan->own_layers) builder.AddLayers(section, *plan);
    builder.AddLayer(section, plan->head);
    const NetworkSpec& followed = network.follows.empty() ? network : *spec.Find(network.follows);
    if (followed.outputs == 0 && action.free_deviations() > 0)
      builder.Add(section, network.name + ".log_deviation", {action.free_deviations()});
    if (network.published) published.count = builder.end();
    if (network.trained) trained_ = builder.end();
  }
  statistics.offset = builder.end();
  if (const int numbers = spec.normalized_count(); numbers > 0) {
    builder.Add(Section::kStatistics, "statistics.observation.count", {1});
    builder.Add(Section::kStatistics, "statistics.observation.mean", {numbers});
    builder.Add(Section::kStatistics, "statistics.observation.variance", {numbers},
                FirstValue::kOnes);
  }
  total = builder.end();
  statistics.count = total - statistics.offset;
}

void ParameterLayout::LayArrays(const std::vector<NamedArray>& arrays) {
  for (const NamedArray& array : arrays) {
    tensors.push_back({array.name, Section::kPublished, array.shape, total, array.count()});
    total += array.count();
  }
  published.count = statistics.offset = trained_ = total;
}

const TensorSlot& ParameterLayout::Find(std::string_view name) const {
  for (const TensorSlot& tensor : tensors) {
    if (tensor.name == name) return tensor;
  }
  FailCheck(__FILE__, __LINE__, "tensor name", std::string(name).c_str());
}

}  // namespace murmurate
