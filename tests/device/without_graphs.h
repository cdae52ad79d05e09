// WithoutGraphs: a device on which what would be recorded is enqueued each time.
#pragma once

#include <memory>
#include <set>

#include "server/compute/device/rank_sums.h"
#include "tests/device/forwarding_device.h"

namespace murmurate {

class WithoutGraphs : public ForwardingDevice {
 public:
  explicit WithoutGraphs(std::shared_ptr<Device> device)
      : ForwardingDevice(device.get()), device_(std::move(device)) {}

  RankSums* rank_sums() override { return device_->rank_sums() == nullptr ? nullptr : &sums_; }
  void BeginGraph(Stream) override {
    records_ = true;
    recorded_ = 0;
  }
  DeviceGraph EndGraph(Stream) override {
    records_ = false;
    nodes_.insert(recorded_);
    return -1;
  }

  /// How many nodes the graphs had that would have been recorded, sums over ranks aside.
  const std::set<int>& nodes() const { return nodes_; }

 protected:
  bool Passes() override {
    ++recorded_;
    return !records_;
  }

 private:
  class Sums : public RankSums {
   public:
    explicit Sums(WithoutGraphs* device) : device_(*device) {}
    Status Prepare() override { return real().Prepare(); }
    Result<RankId> MakeId() override { return real().MakeId(); }
    Status Join(const RankId& id, int rank, int size, Waiting waiting) override {
      return real().Join(id, rank, size, std::move(waiting));
    }
    void Sum(Stream stream, float* data, std::size_t count) override {
      if (!device_.records_) real().Sum(stream, data, count);
    }
    Status Health() override { return real().Health(); }
    void Abort(const std::string& why) override { real().Abort(why); }

   private:
    RankSums& real() const { return *device_.device_->rank_sums(); }
    WithoutGraphs& device_;
  };

  const std::shared_ptr<Device> device_;
  Sums sums_{this};
  bool records_ = false;
  int recorded_ = 0;
  std::set<int> nodes_;
};

}  // namespace murmurate
