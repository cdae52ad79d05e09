#include "tests/device/host_graphs.h"

#include <utility>

#include "shared/core/check.h"

namespace murmurate {

void HostGraphs::Begin(Stream stream) {
  MURMURATE_CHECK(!recording(), "one graph is recorded at a time");
  stream_ = stream;
  recorded_ = std::make_shared<Graph>();
}

DeviceGraph HostGraphs::End(Stream stream) {
  MURMURATE_CHECK(Records(stream), "a graph ends on the stream that it began on");
  graphs_.push_back(std::exchange(recorded_, nullptr));
  return static_cast<DeviceGraph>(graphs_.size()) - 1;
}

void HostGraphs::Add(DeviceWork work) { recorded_->push_back(std::move(work)); }

std::shared_ptr<const HostGraphs::Graph> HostGraphs::Find(DeviceGraph graph) const {
  const bool known = graph >= 0 && static_cast<std::size_t>(graph) < graphs_.size() &&
                     graphs_[static_cast<std::size_t>(graph)] != nullptr;
  MURMURATE_CHECK(known, "the graph was recorded, and not dropped");
  return graphs_[static_cast<std::size_t>(graph)];
}

void HostGraphs::Drop(DeviceGraph graph) {
  Find(graph);
  graphs_[static_cast<std::size_t>(graph)] = nullptr;
}

}  // namespace murmurate
