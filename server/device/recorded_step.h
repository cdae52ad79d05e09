// RecordedStep: work that is enqueued again and again with the same arguments. The first time it is
// enqueued as it is, so that libraries load and allocate what they need; then it is recorded into a
// graph, which is replayed from there on.
#pragma once

#include <functional>

#include "server/compute/device/device.h"

namespace murmurate {

class RecordedStep {
 public:
  /// `enqueue` puts the step on the main stream; it must give the same calls every time.
  explicit RecordedStep(std::function<void()> enqueue) : enqueue_(std::move(enqueue)) {}

  void Run(Device* device) {
    if (graph_ < 0 && run_once_) {
      device->BeginGraph(Stream::kMain);
      enqueue_();
      graph_ = device->EndGraph(Stream::kMain);
    }
    if (graph_ >= 0) return device->Replay(Stream::kMain, graph_);
    enqueue_();
    run_once_ = true;
  }
  /// Gives the graph back; the device must be idle.
  void Drop(Device* device) {
    device->DropGraph(graph_);
    graph_ = -1;
  }

 private:
  const std::function<void()> enqueue_;
  DeviceGraph graph_ = -1;
  bool run_once_ = false;
};

}  // namespace murmurate
