#include "shared/model/network_plan.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "shared/core/check.h"
#include "shared/model/action_layout.h"
#include "shared/model/model_spec.h"

namespace murmurate {
namespace {

// One row may have so many numbers anywhere in a network: 2^26, 256 MiB.
constexpr std::int64_t kMaxRow = std::int64_t{1} << 26;

/// The shape of an observation: {h, w, c}, {h, w}: one channel, {n}: a vector; more dimensions are
/// a vector too.
LayerShape ShapeOf(const ObservationInput& input, int stack) {
  LayerShape shape{1, 1, input.encoded_count()};
  if (input.element != ObservationInput::Element::kInt32) {
    if (input.shape.size() == 2) shape = {input.shape[0], input.shape[1], 1};
    if (input.shape.size() == 3) shape = {input.shape[0], input.shape[1], input.shape[2]};
  }
  shape.channels *= stack;
  return shape;
}

Status Misfit(const PlannedLayer& planned, const std::string& why) {
  return InvalidArgument("layer " + planned.name + " (" + planned.layer.ToText() + "): " + why);
}

int Slide(int size, const Layer& layer) {
  const int padded = size + 2 * layer.padding;
  return padded < layer.kernel ? 0 : (padded - layer.kernel) / layer.stride + 1;
}

Status PlanWindow(PlannedLayer* planned) {
  const Layer& layer = planned->layer;
  const LayerShape& in = planned->in;
  planned->out = {Slide(in.height, layer), Slide(in.width, layer),
                  layer.form().units ? layer.units : in.channels};
  if (planned->out.height == 0 || planned->out.width == 0) {
    return Misfit(*planned, "the kernel of " + std::to_string(layer.kernel) + " x " +
                                std::to_string(layer.kernel) + " is larger than its input of " +
                                in.ToText() +
                                "; use a smaller one, padding, or fewer layers before it");
  }
  if (!layer.form().units && 2 * layer.padding > layer.kernel) {
    return Misfit(*planned, "padding of a pool is at most half its kernel");
  }
  return Status();
}

/// Follows a shape through a list of layers.
class Planner {
 public:
  Planner(std::string name, LayerShape shape, std::vector<PlannedLayer>* planned)
      : name_(std::move(name)), shape_(shape), planned_(planned) {}

  Status Add(const Layer& layer, bool may_recur) {
    PlannedLayer next{layer, name_ + "." + std::to_string(planned_->size()), shape_, shape_,
                      state_floats_};
    MURMURATE_RETURN_IF_ERROR(Shape(&next, may_recur));
    if (next.out.count() > kMaxRow) {
      return Misfit(next, "its output of " + next.out.ToText() + " has more than 67108864 numbers");
    }
    shape_ = next.out;
    state_floats_ += layer.form().state_parts * layer.units;
    planned_->push_back(std::move(next));
    return Status();
  }
  Status End() const {
    if (!open_) return Status();
    return InvalidArgument(name_ + ": a \"residual\" has no \"add\" after it");
  }
  const LayerShape& shape() const { return shape_; }
  int state_floats() const { return state_floats_; }

 private:
  Status Shape(PlannedLayer* next, bool may_recur) {
    const LayerForm& form = next->layer.form();
    if (form.window) return PlanWindow(next);
    if (form.block == LayerForm::Block::kOpens) return Open(*next);
    if (form.block == LayerForm::Block::kCloses) return Close(*next);
    if (form.flattens) next->out = {1, 1, static_cast<int>(shape_.count())};
    if (!form.units) return Status();
    if (form.gates > 0 && !may_recur)
      return Misfit(*next, "only the trunk may recur: list it after the joined inputs");
    if (form.gates > 0 && open_)
      return Misfit(*next, "a recurrent layer cannot lie inside a \"residual\"");
    if (!shape_.vector()) {
      return Misfit(*next, "it needs a vector, and " + shape_.ToText() +
                               " comes to it: put \"flatten\" before it");
    }
    next->out = {1, 1, next->layer.units};
    return Status();
  }
  Status Open(const PlannedLayer& residual) {
    if (open_) return Misfit(residual, "one \"residual\" inside another is not supported");
    open_ = shape_;
    return Status();
  }
  Status Close(const PlannedLayer& add) {
    if (!open_) return Misfit(add, "there is no \"residual\" before it");
    if (*open_ != shape_) {
      return Misfit(add, open_->ToText() + " went into the residual block and " + shape_.ToText() +
                             " comes out: they must agree");
    }
    open_.reset();
    return Status();
  }

  const std::string name_;
  LayerShape shape_;
  std::vector<PlannedLayer>* planned_;
  int state_floats_ = 0;
  std::optional<LayerShape> open_;  // what went into the residual block
};

Status PlanInput(const ObservationInput& input, const InputEncoder* encoder, int stack,
                 const std::string& network, PlannedInput* planned) {
  planned->stack = stack;
  planned->in = ShapeOf(input, planned->stack);
  const std::string name = network + "." + (input.name.empty() ? "observation" : input.name);
  Planner planner(name, planned->in, &planned->layers);
  if (encoder != nullptr) {
    for (const Layer& layer : encoder->layers) MURMURATE_RETURN_IF_ERROR(planner.Add(layer, false));
  }
  MURMURATE_RETURN_IF_ERROR(planner.End());
  planned->features = static_cast<int>(planner.shape().count());
  return Status();
}

/// The name of the network that has the layers of `asked`, whose form is `whole`.
const std::string& OwnerOfLayers(const ModelSpec& spec, const NetworkSpec& asked,
                                 const NetworkSpec& whole) {
  if (whole.shares.empty()) return asked.name;
  if (asked.follows.empty()) return whole.shares;
  const auto target = std::ranges::find(spec.networks, whole.shares, &NetworkSpec::follows);
  MURMURATE_CHECK(target != spec.networks.end(), "the shared network has a target, too");
  return target->name;
}

}  // namespace

std::string LayerShape::ToText() const {
  if (vector()) return std::to_string(channels);
  return std::to_string(height) + " x " + std::to_string(width) + " x " + std::to_string(channels);
}

std::int64_t PlannedTensor::count() const {
  std::int64_t count = 1;
  for (const int side : shape) count *= side;
  return count;
}

std::vector<PlannedTensor> PlannedLayer::tensors() const {
  const int sides[] = {0, layer.kernel, in.channels, layer.units, layer.form().gates * layer.units};
  std::vector<PlannedTensor> tensors;
  for (const LayerTensor& tensor : layer.form().tensors) {
    if (tensor.name == nullptr) break;
    PlannedTensor& planned = tensors.emplace_back(name + "." + tensor.name);
    planned.form = &tensor;
    for (const TensorSide side : tensor.shape)
      if (side != TensorSide::kNone) planned.shape.push_back(sides[static_cast<std::size_t>(side)]);
  }
  return tensors;
}

std::int64_t PlannedLayer::parameters() const {
  std::int64_t count = 0;
  for (const PlannedTensor& tensor : tensors()) count += tensor.count();
  return count;
}

double PlannedLayer::flops() const {
  const double places = static_cast<double>(out.height) * out.width;
  if (layer.form().units)
    return 2.0 * places * static_cast<double>(parameters() - (layer.recurrent() ? 0 : layer.units));
  if (layer.form().window) return places * out.channels * layer.kernel * layer.kernel;
  return layer.form().flops_each * static_cast<double>(in.count());
}

Space StackedObservation(const ModelSpec& spec) {
  Space stacked = spec.row_space();
  const bool parts = stacked.kind == Space::Kind::kDict;
  for (int i = 0; i < stacked.leaf_count(); ++i) {
    const int stack = spec.StackOf(stacked.leaf_name(i));
    Space& leaf = parts ? stacked.leaves[static_cast<std::size_t>(i)] : stacked;
    if (stack == 1) continue;
    if (leaf.shape.size() == 2) leaf.shape.push_back(1);
    leaf.shape.back() *= stack;
  }
  return stacked;
}

Result<NetworkPlan> PlanNetwork(const ModelSpec& spec, std::string_view name) {
  const NetworkSpec* const asked = spec.Find(name);
  MURMURATE_CHECK(asked != nullptr, "the spec has a network of this name");
  const NetworkSpec& whole = asked->follows.empty() ? *asked : *spec.Find(asked->follows);
  const NetworkSpec& network = whole.shares.empty() ? whole : *spec.Find(whole.shares);
  const std::string& prefix = OwnerOfLayers(spec, *asked, whole);
  const ObservationLayout observation(spec.row_space());
  const bool privileged = spec.spaces.privileged.kind != Space::Kind::kNone;
  NetworkPlan plan;
  plan.own_layers = prefix == asked->name;
  std::int64_t joined = 0;
  for (std::size_t i = 0; i < observation.inputs().size(); ++i) {
    const ObservationInput& input = observation.inputs()[i];
    if (privileged && !network.reads_privileged && IsPrivileged(input.name)) continue;
    PlannedInput planned;
    planned.input = static_cast<int>(i);
    MURMURATE_RETURN_IF_ERROR(PlanInput(input, network.FindEncoder(input.name),
                                        spec.StackOf(input.name), prefix, &planned));
    planned.first_feature = static_cast<int>(joined);
    joined += planned.features;
    if (joined > kMaxRow) {
      return InvalidArgument(prefix + ": the joined inputs have more than 67108864 numbers");
    }
    plan.inputs.push_back(std::move(planned));
  }
  const ActionLayout action(spec.spaces.action, spec.continuous);
  if (network.reads_action) plan.action_features = action.encoded_count();
  plan.joined = static_cast<int>(joined) + plan.action_features;
  Planner planner(prefix, {1, 1, plan.joined}, &plan.trunk);
  for (const Layer& layer : network.trunk) MURMURATE_RETURN_IF_ERROR(planner.Add(layer, true));
  MURMURATE_RETURN_IF_ERROR(planner.End());
  plan.features = static_cast<int>(planner.shape().count());
  plan.outputs = whole.outputs == 0 ? action.outputs() : whole.outputs;
  plan.head = {
      {.units = plan.outputs}, asked->name + ".head", {1, 1, plan.features}, {1, 1, plan.outputs}};
  plan.state_floats = planner.state_floats();
  return plan;
}

}  // namespace murmurate
