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
  graphs_[made_] = std::exchange(recorded_, nullptr);
  return made_++;
}

void HostGraphs::Add(DeviceWork work) { recorded_->push_back(std::move(work)); }

std::shared_ptr<const HostGraphs::Graph> HostGraphs::Find(DeviceGraph graph) const {
  const auto found = graphs_.find(graph);
  MURMURATE_CHECK(found != graphs_.end(), "the graph was recorded, and not dropped");
  return found->second;
}

void HostGraphs::Drop(DeviceGraph graph) {
  Find(graph);
  graphs_.erase(graph);
}

}  // namespace murmurate
