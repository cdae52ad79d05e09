#include "shared/core/check.h"
#include "shared/model/model_spec.h"
#include "shared/model/network_plan.h"

namespace murmurate {
namespace {

constexpr std::size_t kLineFloats = 16;  // 64 bytes

class Builder {
 public:
  Builder(ParameterLayout* layout) : layout_(layout) {}

  void Add(Section section, std::string name, std::vector<int> shape) {
    std::size_t count = 1;
    for (const int size : shape) count *= static_cast<std::size_t>(size);
    layout_->tensors.push_back({std::move(name), section, std::move(shape), next_, count});
    next_ += (count + kLineFloats - 1) / kLineFloats * kLineFloats;
  }

  void AddDense(Section section, const std::string& name, int in, int out) {
    Add(section, name + ".weight", {in, out});
    Add(section, name + ".bias", {out});
  }

  void AddLayers(Section section, const std::vector<PlannedLayer>& layers) {
    for (const PlannedLayer& layer : layers) AddLayer(section, layer);
  }
  void AddNetwork(Section section, const NetworkPlan& plan) {
    for (const PlannedInput& input : plan.inputs) AddLayers(section, input.layers);
    AddLayers(section, plan.trunk);
  }

  /// Ends a section that began where the last one ended.
  SectionRange EndSection() {
    const SectionRange range{begin_, next_ - begin_};
    begin_ = next_;
    return range;
  }

 private:
  void AddLayer(Section section, const PlannedLayer& planned) {
    const Layer& layer = planned.layer;
    const int in = planned.in.channels, units = layer.units;
    const std::string& name = planned.name;
    switch (layer.kind) {
      case Layer::Kind::kDense:
        return AddDense(section, name, in, units);
      case Layer::Kind::kConv:
        Add(section, name + ".weight", {layer.kernel, layer.kernel, in, units});
        return Add(section, name + ".bias", {units});
      case Layer::Kind::kLayerNorm:
        Add(section, name + ".gain", {in});
        return Add(section, name + ".shift", {in});
      case Layer::Kind::kLstm:
      case Layer::Kind::kGru:
        return AddRecurrent(section, planned);
      default:
        return;  // nothing to learn
    }
  }
  void AddRecurrent(Section section, const PlannedLayer& planned) {
    const int units = planned.layer.units;
    const bool lstm = planned.layer.kind == Layer::Kind::kLstm;
    const int gates = (lstm ? 4 : 3) * units;
    Add(section, planned.name + ".input_weight", {planned.in.channels, gates});
    Add(section, planned.name + ".hidden_weight", {units, gates});
    Add(section, planned.name + ".bias", {gates});
    if (!lstm) Add(section, planned.name + ".hidden_bias", {units});
  }

  ParameterLayout* layout_;
  std::size_t begin_ = 0, next_ = 0;
};

}  // namespace

ParameterLayout::ParameterLayout(const ModelSpec& spec) {
  const Result<NetworkPlan> plan = PlanNetwork(spec, "policy");
  MURMURATE_CHECK(plan.ok(), plan.status().message().c_str());
  const ActionLayout action(spec.spaces.action, spec.continuous);
  Builder builder(this);
  builder.AddNetwork(Section::kPolicy, *plan);
  builder.AddDense(Section::kPolicy, "policy.head", plan->features, action.outputs());
  if (action.free_deviations() > 0) {
    builder.Add(Section::kPolicy, "policy.log_deviation", {action.free_deviations()});
  }
  policy = builder.EndSection();

  if (spec.separate_value) builder.AddNetwork(Section::kCritic, *PlanNetwork(spec, "critic"));
  builder.AddDense(Section::kCritic, "critic.head", plan->features, 1);
  critic = builder.EndSection();

  if (const int numbers = spec.normalized_count(); numbers > 0) {
    builder.Add(Section::kStatistics, "statistics.observation.count", {1});
    builder.Add(Section::kStatistics, "statistics.observation.mean", {numbers});
    builder.Add(Section::kStatistics, "statistics.observation.variance", {numbers});
  }
  statistics = builder.EndSection();
  total = statistics.offset + statistics.count;
}

const TensorSlot& ParameterLayout::Find(std::string_view name) const {
  for (const TensorSlot& tensor : tensors) {
    if (tensor.name == name) return tensor;
  }
  FailCheck(__FILE__, __LINE__, "tensor name", std::string(name).c_str());
}

}  // namespace murmurate
