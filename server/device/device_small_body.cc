#include "server/device/device_small_body.h"

#include <algorithm>

#include "server/device/small_network_cost.h"

namespace murmurate {
namespace {

constexpr std::size_t kLeastRowsAPart = 64, kMostParts = 32;
/// Of SmallWeights: four for each multiprocessor of a large GPU. More would leave more sums to add.
constexpr std::size_t kMostWeightBlocks = 4 * 132;
constexpr std::size_t kMostTrunk = kSmallMostLayers - 2;

/// Runs of rows that SmallWeights sums by themselves, for `tiles` tiles of weights.
std::size_t MostParts(std::size_t rows, std::uint32_t tiles) {
  const std::size_t by_rows = (rows + kLeastRowsAPart - 1) / kLeastRowsAPart;
  return std::max<std::size_t>(1, std::min({kMostParts, by_rows, kMostWeightBlocks / tiles}));
}

bool Fits(const PlannedLayer& planned) {
  const LayerForm& form = planned.layer.form();
  return form.units && !form.window && form.gates == 0 && planned.in.count() <= kSmallMostWidth &&
         planned.out.count() <= kSmallMostWidth;
}
bool Fits(const NetworkPlan& plan) {
  return plan.inputs.size() == 1 && plan.inputs[0].layers.empty() && plan.action_features == 0 &&
         plan.trunk.size() <= kMostTrunk && Fits(plan.head) &&
         std::ranges::all_of(plan.trunk, [](const PlannedLayer& layer) { return Fits(layer); });
}

std::uint32_t TilesOf(int in, int out) {
  const auto tiles = [](int n) { return (n + kSmallWeightTile - 1) / kSmallWeightTile; };
  return static_cast<std::uint32_t>(tiles(in) * tiles(out));
}

CountedNetwork CountedOf(const DeviceBodyRequest& request, std::size_t rows) {
  CountedNetwork network{.towers = request.has_tower_of_value() ? 2 : 1};
  std::uint32_t tiles = 0;
  const auto add = [&](const PlannedLayer& planned, bool first) {
    const int in = static_cast<int>(planned.in.count()), out = planned.layer.units;
    network.layers.push_back({in, out, first});
    network.widest = std::max(network.widest, out);
    tiles += TilesOf(in, out);
  };
  for (const NetworkPlan* const plan : {&request.policy, request.value}) {
    if (plan == nullptr) continue;
    const bool own = plan == &request.policy || request.separate;
    for (std::size_t i = 0; own && i < plan->trunk.size(); ++i) add(plan->trunk[i], i == 0);
    add(plan->head, plan->trunk.empty());
  }
  network.weight_parts = static_cast<double>(MostParts(rows, tiles));
  return network;
}

}  // namespace

bool DeviceSmallBody::Suits(const DeviceBodyRequest& request) {
  if (!Fits(request.policy)) return false;
  if (request.value != nullptr && !Fits(*request.value)) return false;
  const auto rows = static_cast<std::size_t>(request.room->max_rows());
  const CountedNetwork network = CountedOf(request, rows);
  return SecondsAsAWhole(network, static_cast<double>(rows)) <=
         SecondsByLayers(network, static_cast<double>(rows), request.precision);
}

DeviceSmallBody::DeviceSmallBody(const DeviceBodyRequest& request) : room_(request.room) {
  AddTrunk(request.policy, request.inputs[0].numbers.floats());
  outputs_ = AddHead(request.policy.head, request.d_outputs);
  if (request.has_tower_of_value()) AddTrunk(*request.value, request.inputs[0].numbers.floats());
  if (request.value != nullptr) values_ = AddHead(request.value->head, request.d_values);
  for (const Tower& tower : towers_)
    for (const std::vector<Dense>* const layers : {&tower.trunk, &tower.heads})
      for (const Dense& layer : *layers) {
        widest_ = std::max(widest_, layer.out);
        widest_read_ = std::max({widest_read_, layer.in, layer.out});
        numbers_ += static_cast<std::size_t>(layer.in + 1) * layer.out;
        tiles_ += TilesOf(layer.in, layer.out);
      }
  const auto most_rows = static_cast<std::size_t>(room_->max_rows());
  sums_ = room_->PlanWorkspace(MostParts(most_rows, tiles_) * numbers_);
}

DeviceSmallBody::Dense DeviceSmallBody::MakeDense(const PlannedLayer& planned, DeviceArray<float> x,
                                                  DeviceArray<float> dz) const {
  const int out = planned.layer.units;
  return {.weight = room_->Offset(planned.name + ".weight"),
          .bias = room_->Offset(planned.name + ".bias"),
          .in = planned.in.channels,
          .out = out,
          .activation = planned.layer.activation,
          .x = x,
          .y = room_->Rows(out),
          .dz = dz};
}

void DeviceSmallBody::AddTrunk(const NetworkPlan& plan, DeviceArray<float> input) {
  Tower& tower = towers_.emplace_back(Tower{.features = input});
  for (const PlannedLayer& planned : plan.trunk) {
    tower.trunk.push_back(MakeDense(planned, tower.features, room_->Rows(planned.layer.units)));
    tower.features = tower.trunk.back().y;
  }
}

DeviceArray<float> DeviceSmallBody::AddHead(const PlannedLayer& head, DeviceArray<float> dz) {
  Tower& tower = towers_.back();
  tower.heads.push_back(MakeDense(head, tower.features, dz));
  return tower.heads.back().y;
}

SmallLayer DeviceSmallBody::OnDeviceNow(const Dense& layer) {
  return {.weight = layer.weight,
          .bias = layer.bias,
          .x = layer.x.data(),
          .y = layer.y.data(),
          .dz = layer.dz.data(),
          .in = layer.in,
          .out = layer.out,
          .activation = OnDevice(layer.activation)};
}

SmallTower DeviceSmallBody::OnDeviceNow(const Tower& tower, std::size_t first_head) {
  SmallTower now = {};
  now.trunk = static_cast<int>(tower.trunk.size());
  for (const Dense& layer : tower.trunk) now.layer[now.layers++] = OnDeviceNow(layer);
  for (std::size_t i = first_head; i < tower.heads.size(); ++i)
    now.layer[now.layers++] = OnDeviceNow(tower.heads[i]);
  return now;
}

Grid DeviceSmallBody::RowsGrid(const DevicePass& pass, std::size_t towers) const {
  return {.blocks = static_cast<std::uint32_t>((pass.rows.rows + kSmallRows - 1) / kSmallRows),
          .rows = static_cast<std::uint32_t>(towers),
          .threads = SmallThreads(widest_),
          .block_bytes = SmallBlockBytes(SmallThreads(widest_), widest_read_)};
}

/// A multiple of a tile's rows.
std::size_t DeviceSmallBody::RowsAPart(std::size_t rows) const {
  const std::size_t parts = MostParts(rows, tiles_);
  return ((rows + parts - 1) / parts + kSmallRows - 1) / kSmallRows * kSmallRows;
}

void DeviceSmallBody::Forward(const DevicePass& pass, bool values_alone) {
  const bool separate = towers_.size() > 1;
  SmallForwardCall call{.parameters = pass.parameters,
                        .rows = pass.Numbers(1),
                        .stage_rows = SmallStageRows(SmallThreads(widest_)),
                        .tower = {}};
  std::size_t towers = 0;
  if (!values_alone || !separate)
    call.tower[towers++] = OnDeviceNow(towers_[0], values_alone ? 1 : 0);
  if (separate) call.tower[towers++] = OnDeviceNow(towers_[1], 0);
  pass.device->Launch(pass.stream, RowsGrid(pass, towers), call);
}

void DeviceSmallBody::Backward(const DevicePass& pass) {
  SmallBackwardCall call{.parameters = pass.parameters,
                         .rows = pass.Numbers(1),
                         .stage_rows = SmallStageRows(SmallThreads(widest_)),
                         .tower = {}};
  for (std::size_t i = 0; i < towers_.size(); ++i) call.tower[i] = OnDeviceNow(towers_[i], 0);
  pass.device->Launch(pass.stream, RowsGrid(pass, towers_.size()), call);
  const std::size_t rows = pass.Numbers(1), each = RowsAPart(rows),
                    parts = (rows + each - 1) / each;
  const SmallGradients gradients = Gradients(parts);
  pass.device->Launch(pass.stream,
                      Grid{.blocks = tiles_,
                           .rows = static_cast<std::uint32_t>(parts),
                           .threads = kSmallWeightThreads},
                      SmallWeightsCall{.gradients = gradients, .rows = rows, .rows_a_part = each});
  pass.device->Launch(pass.stream, Grid::For(numbers_),
                      SmallFinishCall{.gradients = gradients, .gradient = pass.gradient});
}

SmallGradients DeviceSmallBody::Gradients(std::size_t parts) const {
  SmallGradients all = {};
  all.numbers = numbers_;
  all.parts = parts;
  all.sums = sums_.data();
  std::size_t sums = 0;
  std::uint32_t tile = 0;
  for (const Tower& tower : towers_)
    for (const std::vector<Dense>* const layers : {&tower.trunk, &tower.heads})
      for (const Dense& layer : *layers) {
        all.layer[all.layers++] = {.weight = layer.weight,
                                   .bias = layer.bias,
                                   .x = layer.x.data(),
                                   .dz = layer.dz.data(),
                                   .sums = sums,
                                   .in = layer.in,
                                   .out = layer.out,
                                   .tile = tile};
        sums += static_cast<std::size_t>(layer.in + 1) * layer.out;
        tile += TilesOf(layer.in, layer.out);
      }
  return all;
}

}  // namespace murmurate
