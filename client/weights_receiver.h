// WeightsReceiver is what mmr-weights repeats: wait until a model has newer weights, pack them
// for the kernels as they come, make them the latest. The game pays for none of it, whatever the
// size; under Updates::kManual it pays for all of it, in Client::Update, and there is no
// mmr-weights.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "client/client_model.h"
#include "murmurate/log.h"
#include "shared/weights/weights.h"

namespace murmurate {

class WeightsReceiver {
 public:
  /// `gives_way`: for mmr-weights beside a game that plays in real time (Pace::kNever). It then
  /// runs only on a core that is otherwise idle, and packs a large version with pauses, so that no
  /// frame meets more than a little of it; one that was torn meanwhile is packed again without
  /// them.
  explicit WeightsReceiver(LogCallback log, bool gives_way = false)
      : log_(std::move(log)), gives_way_(gives_way) {}

  /// mmr-client: from now on `model` takes its weights from `subscriber` into `policies`.
  void Subscribe(std::shared_ptr<ClientModel> model, std::shared_ptr<PolicySet> policies,
                 std::shared_ptr<WeightSubscriber> subscriber);
  /// mmr-weights: one round; sleeps by futex until something newer may be there, at most 1 s.
  void PollOnce();
  /// Takes PollOnce's place under Updates::kManual: never sleeps; returns how many models have a
  /// newer version now.
  int ReceiveNewer();
  void Wake();  ///< any thread
  void Stop();  ///< any thread: PollOnce sleeps no more

  std::uint64_t received() const { return received_.load(std::memory_order_relaxed); }

 private:
  struct Source;
  std::vector<std::shared_ptr<Source>> sources() const;

  const LogCallback log_;
  const bool gives_way_;
  bool stands_behind_ = false;
  mutable std::mutex mutex_;
  std::mutex taking_;  ///< serializes receivers: PolicySet has one writer
  std::vector<std::shared_ptr<Source>> sources_;
  FutexWord wake_{0};
  std::atomic<bool> stopping_{false};
  std::atomic<std::uint64_t> received_{0};
};

}  // namespace murmurate
