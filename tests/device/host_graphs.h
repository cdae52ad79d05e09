// HostGraphs: what was enqueued between BeginGraph and EndGraph, kept with its arguments.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "server/compute/device/device.h"
#include "tests/device/stream_queues.h"

namespace murmurate {

class HostGraphs {
 public:
  using Graph = std::vector<DeviceWork>;

  void Begin(Stream stream);
  DeviceGraph End(Stream stream);
  /// Whether what is enqueued on the stream is kept for a graph.
  bool Records(Stream stream) const { return recorded_ != nullptr && stream == stream_; }
  bool recording() const { return recorded_ != nullptr; }
  void Add(DeviceWork work);
  std::shared_ptr<const Graph> Find(DeviceGraph graph) const;
  void Drop(DeviceGraph graph);
  std::size_t graphs() const { return graphs_.size(); }  ///< that were not dropped

 private:
  Stream stream_ = Stream::kMain;
  std::shared_ptr<Graph> recorded_;  ///< the present one
  std::map<DeviceGraph, std::shared_ptr<const Graph>> graphs_;
  DeviceGraph made_ = 0;  ///< so far; no number is given twice
};

}  // namespace murmurate
