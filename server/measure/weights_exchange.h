// WeightsExchange: one version of a model of 6.7 MB (96-1024-1536-8) through shared memory: published
// by a learner, taken by a player, beside the same bytes copied in and out.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "shared/weights/shared_memory_weights.h"

namespace murmurate {

class WeightsExchange {
 public:
  /// A status where the system has no shared memory.
  static Result<std::unique_ptr<WeightsExchange>> Make();

  void Exchange();  ///< publishes a version and takes it
  void Copy();      ///< memcpy of as many bytes there and back

 private:
  class Taker;
  WeightsExchange(const ModelSpec& spec, std::unique_ptr<SharedMemoryPublisher> publisher,
                  std::unique_ptr<SharedMemorySubscriber> subscriber);

  const std::unique_ptr<SharedMemoryPublisher> publisher_;
  const std::unique_ptr<SharedMemorySubscriber> subscriber_;
  const std::shared_ptr<Taker> taker_;
  Snapshot snapshot_;
  std::vector<std::byte> bytes_, there_;
};

}  // namespace murmurate
