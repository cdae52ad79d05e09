#include "server/exchange/torch_layout.h"

#include <map>
#include <numeric>
#include <utility>

#include "shared/core/check.h"
#include "shared/model/network_plan.h"

namespace murmurate {
namespace {

/// Of each number of a vector, as PyTorch has it, its place in ours; empty: they are the same.
using Order = std::vector<int>;

int In(const Order& order, int i) { return order.empty() ? i : order[static_cast<std::size_t>(i)]; }

/// Of a picture that is flattened.
Order OrderOf(const LayerShape& shape) {
  if (shape.vector() || shape.channels == 1) return {};
  Order order;
  for (int c = 0; c < shape.channels; ++c)
    for (int place = 0; place < shape.height * shape.width; ++place)
      order.push_back(place * shape.channels + c);
  return order;
}

/// Goes through the layers of one network.
class NetworkWalk {
 public:
  NetworkWalk(const ParameterLayout& layout, std::vector<PlacedTensor>* tensors)
      : layout_(layout), tensors_(tensors) {}

  /// `order`: of what comes to the first layer, where that is a vector. Gives back that of the last.
  Order Through(const std::vector<PlannedLayer>& layers, Order order) {
    order_ = std::move(order);
    for (const PlannedLayer& layer : layers) Visit(layer);
    return std::exchange(order_, {});
  }

 private:
  PlacedTensor& Add(const PlannedLayer& layer, const std::string& name, std::vector<int> shape) {
    return tensors_->emplace_back(layer.name + "." + name, std::move(shape));
  }
  std::uint32_t First(const PlannedLayer& layer, const char* tensor) const {
    return static_cast<std::uint32_t>(layout_.Find(layer.name + "." + tensor).offset);
  }

  void Visit(const PlannedLayer& layer) {
    const LayerForm& form = layer.layer.form();
    if (form.gates > 0) return Recurrent(layer);
    if (form.units) return form.window ? Conv(layer) : Dense(layer);
    if (form.tensors[0].name != nullptr) return Norm(layer);
    if (form.flattens && !layer.in.vector()) order_ = OrderOf(layer.in);
    if (form.block == LayerForm::Block::kNone) return;
    kept_ = order_;
    const bool opens = form.block == LayerForm::Block::kOpens && layer.in.vector();
    kept_count_ = opens ? layer.in.channels : 0;
  }

  /// [in][columns] of ours as [columns][in].
  void Turned(const PlannedLayer& layer, const char* ours, const std::string& name, int in,
              int columns, const Order& rows, const Order& outputs) {
    PlacedTensor& tensor = Add(layer, name, {columns, in});
    const std::uint32_t first = First(layer, ours);
    for (int column = 0; column < columns; ++column)
      for (int i = 0; i < in; ++i)
        tensor.places.push_back(first + static_cast<std::uint32_t>(In(rows, i)) * columns +
                                static_cast<std::uint32_t>(In(outputs, column)));
  }
  PlacedTensor& Row(const PlannedLayer& layer, const char* ours, const std::string& name, int count,
                    const Order& order = {}) {
    PlacedTensor& tensor = Add(layer, name, {count});
    const std::uint32_t first = First(layer, ours);
    for (int i = 0; i < count; ++i)
      tensor.places.push_back(first + static_cast<std::uint32_t>(In(order, i)));
    return tensor;
  }

  /// Inside a residual block a layer as wide as what is added has its outputs in the order of that.
  void Dense(const PlannedLayer& layer) {
    const int units = layer.layer.units;
    const Order outputs = units == kept_count_ ? kept_ : Order();
    Turned(layer, "weight", "weight", layer.in.channels, units, order_, outputs);
    Row(layer, "bias", "bias", units, outputs);
    order_ = outputs;
  }

  void Conv(const PlannedLayer& layer) {
    const auto filters = static_cast<std::uint32_t>(layer.layer.units);
    const auto channels = static_cast<std::uint32_t>(layer.in.channels);
    const int kernel = layer.layer.kernel;
    PlacedTensor& tensor =
        Add(layer, "weight", {layer.layer.units, layer.in.channels, kernel, kernel});
    const std::uint32_t first = First(layer, "weight");
    for (std::uint32_t f = 0; f < filters; ++f)
      for (std::uint32_t c = 0; c < channels; ++c)
        for (std::uint32_t place = 0; place < static_cast<std::uint32_t>(kernel * kernel); ++place)
          tensor.places.push_back(first + (place * channels + c) * filters + f);
    Row(layer, "bias", "bias", layer.layer.units);
  }

  /// A gain and a shift, by the name of the form's tensors.
  void Norm(const PlannedLayer& layer) {
    const Order order = layer.in.vector() ? order_ : Order();
    Row(layer, "gain", "weight", layer.in.channels, order);
    Row(layer, "shift", "bias", layer.in.channels, order);
  }

  void Recurrent(const PlannedLayer& layer) {
    const int units = layer.layer.units, columns = layer.layer.form().gates * units;
    Turned(layer, "input_weight", "weight_ih_l0", layer.in.channels, columns, order_, {});
    Turned(layer, "hidden_weight", "weight_hh_l0", units, columns, {}, {});
    Row(layer, "bias", "bias_ih_l0", columns);
    PlacedTensor& second = Row(layer, "bias", "bias_hh_l0", columns);
    second.added = static_cast<std::size_t>(columns);
    order_.clear();
    if (layer.layer.form().tensors[3].name == nullptr) return;
    // The candidate's second bias lies inside the reset and is no part of a sum.
    second.added -= static_cast<std::size_t>(units);
    std::iota(second.places.begin() + static_cast<std::ptrdiff_t>(second.added),
              second.places.end(), First(layer, "hidden_bias"));
  }

  const ParameterLayout& layout_;
  std::vector<PlacedTensor>* tensors_;
  Order order_;         ///< of what comes to the next layer, where that is a vector
  Order kept_;          ///< of what came into the open residual block
  int kept_count_ = 0;  ///< its numbers; 0: it is none, or no vector
};

/// The joined vector's: that of each input behind the ones before it.
Order JoinedOrder(const NetworkPlan& plan, const std::vector<Order>& of_inputs) {
  Order joined(static_cast<std::size_t>(plan.joined));
  std::iota(joined.begin(), joined.end(), 0);
  bool same = true;
  for (std::size_t i = 0; i < of_inputs.size(); ++i) {
    same &= of_inputs[i].empty();
    for (std::size_t j = 0; j < of_inputs[i].size(); ++j)
      joined[static_cast<std::size_t>(plan.inputs[i].first_feature) + j] =
          plan.inputs[i].first_feature + of_inputs[i][j];
  }
  return same ? Order() : joined;
}

/// The layers of a network; gives back the order of its features.
Order AddLayers(const NetworkPlan& plan, const ParameterLayout& layout,
                std::vector<PlacedTensor>* tensors) {
  std::vector<Order> of_inputs;
  for (const PlannedInput& input : plan.inputs) {
    const Order order = NetworkWalk(layout, tensors).Through(input.layers, {});
    const LayerShape last = input.layers.empty() ? input.in : input.layers.back().out;
    of_inputs.push_back(last.vector() ? order : OrderOf(last));
  }
  return NetworkWalk(layout, tensors).Through(plan.trunk, JoinedOrder(plan, of_inputs));
}

void AddAsItIs(const TensorSlot& slot, std::vector<PlacedTensor>* tensors) {
  PlacedTensor& tensor = tensors->emplace_back(slot.name, slot.shape);
  tensor.places.resize(slot.count);
  std::iota(tensor.places.begin(), tensor.places.end(), static_cast<std::uint32_t>(slot.offset));
}

}  // namespace

std::vector<PlacedTensor> TorchLayout(const ModelSpec& spec, const ParameterLayout& layout) {
  std::vector<PlacedTensor> tensors;
  std::map<std::string, Order> features;  // of each network with layers of its own
  for (const NetworkSpec& network : spec.networks) {
    if (!network.follows.empty()) continue;
    const Result<NetworkPlan> plan = PlanNetwork(spec, network.name);
    MURMURATE_CHECK(plan.ok(), "a model that was checked can be planned");
    if (plan->own_layers) features[network.name] = AddLayers(*plan, layout, &tensors);
    const Order& order = features.at(plan->own_layers ? network.name : network.shares);
    NetworkWalk(layout, &tensors).Through({plan->head}, order);
    for (const TensorSlot& slot : layout.tensors)
      if (slot.name == network.name + ".log_deviation") AddAsItIs(slot, &tensors);
  }
  for (const TensorSlot& slot : layout.tensors)
    if (slot.section == Section::kStatistics) AddAsItIs(slot, &tensors);
  return tensors;
}

std::vector<PlacedTensor> OwnLayout(const ParameterLayout& layout) {
  std::vector<PlacedTensor> tensors;
  for (const TensorSlot& slot : layout.tensors) AddAsItIs(slot, &tensors);
  return tensors;
}

}  // namespace murmurate
