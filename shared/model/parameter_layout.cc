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

  void AddLayers(Section section, const NetworkPlan& plan) {
    for (const PlannedInput& input : plan.inputs) {
      for (const PlannedLayer& layer : input.layers) AddLayer(section, layer);
    }
    for (const PlannedLayer& layer : plan.trunk) AddLayer(section, layer);
  }
  std::size_t end() const { return next_; }

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
  std::size_t next_ = 0;
};

}  // namespace

ParameterLayout::ParameterLayout(const ModelSpec& spec) {
  const ActionLayout action(spec.spaces.action, spec.continuous);
  Builder builder(this);
  for (const NetworkSpec& network : spec.networks) {
    const Result<NetworkPlan> plan = PlanNetwork(spec, network.name);
    MURMURATE_CHECK(plan.ok(), plan.status().message().c_str());
    const Section section = network.published ? Section::kPublished : Section::kLearner;
    if (network.shares.empty()) builder.AddLayers(section, *plan);
    builder.AddDense(section, network.name + ".head", plan->features, plan->outputs);
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
    builder.Add(Section::kStatistics, "statistics.observation.variance", {numbers});
  }
  total = builder.end();
  statistics.count = total - statistics.offset;
}

const TensorSlot& ParameterLayout::Find(std::string_view name) const {
  for (const TensorSlot& tensor : tensors) {
    if (tensor.name == name) return tensor;
  }
  FailCheck(__FILE__, __LINE__, "tensor name", std::string(name).c_str());
}

}  // namespace murmurate
