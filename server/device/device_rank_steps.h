// DeviceRankSteps: batches of a rank whose device sums gradients with the devices of the other ranks:
// what goes between a CollectiveStore, which has the borders of batches, and a DeviceEngine, which has
// the updates.
//
//   MoveIn   once, after the store's first BeginBatch: optimizer and statistics -> the engine
//   Train    agrees with the other ranks, enqueues the updates of all, and waits for them
//   Merge    what all ranks have seen -> the parameters
#pragma once

#include <string>

#include "server/compute/device/rank_sums.h"
#include "server/device/device_engine.h"
#include "server/parameters/collective_store.h"

namespace murmurate {

class DeviceRankSteps : private RankProcessor {
 public:
  /// Offers the device to the store; both must outlive it.
  DeviceRankSteps(CollectiveStore* store, Device* device);
  ~DeviceRankSteps() override { store_->OfferProcessor(nullptr, "this rank has ended"); }
  DeviceRankSteps(const DeviceRankSteps&) = delete;
  DeviceRankSteps& operator=(const DeviceRankSteps&) = delete;

  /// The engine has stepped what the store began with.
  bool moved_in() const { return moved_in_; }
  Status MoveIn(DeviceEngine* engine);
  /// A new engine goes on counting what this rank has seen.
  void CarrySeen(DeviceEngine* engine) const;

  /// After engine->BeginBatch. False: the batch is left out, and the parameters are as they were.
  bool Train(DeviceEngine* engine, double learning_rate);
  /// After Train, when the engine's new parameters are on the host.
  void Merge(DeviceEngine* engine);

 private:
  Status Prepare() override { return sums_->Prepare(); }
  Result<std::string> MakeId() override;
  Status Join(const std::string& id, int rank, int size, std::function<Status()> waiting) override;
  void AwaitBatch(DeviceEngine* engine);

  CollectiveStore* const store_;
  RankSums* const sums_;
  bool moved_in_ = false;
};

}  // namespace murmurate
