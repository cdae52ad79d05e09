// ModelWeights: the newest weights of a model that this client holds, and why a newer version
// cannot be played. Any thread; locked for moments, never inside Act.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "client/agent_shape.h"
#include "client/model_wait.h"
#include "client/policy_set.h"

namespace murmurate {

class ModelWeights {
 public:
  /// `wait`: where the agents of the model wait.
  explicit ModelWeights(ModelWait& wait) : wait_(wait) {}

  /// Null before any spec is known.
  std::shared_ptr<PolicySet> policies() const {
    std::lock_guard lock(mutex_);
    return policies_;
  }
  /// The shape of `policies`: null before any spec is known.
  std::shared_ptr<const AgentShape> shape() const {
    std::lock_guard lock(mutex_);
    return shape_;
  }
  void SetPolicies(std::shared_ptr<PolicySet> set) {
    auto shape = std::make_shared<const AgentShape>(set);
    std::lock_guard lock(mutex_);
    policies_ = std::move(set);
    shape_ = std::move(shape);
  }
  /// True when there is a version to play.
  bool any() const {
    const auto set = policies();
    return set != nullptr && !set->empty();
  }

  /// The newest version came and cannot be played, for the reason given; "" when it can. Agents
  /// that wait for that version play on with the last one.
  void SetUnplayable(std::uint64_t version, std::string reason) {
    {
      std::lock_guard lock(mutex_);
      unplayable_reason_ = std::move(reason);
    }
    unplayable_.store(version, std::memory_order_release);
    wait_.Progress();
  }
  std::uint64_t unplayable() const { return unplayable_.load(std::memory_order_acquire); }
  std::string unplayable_reason() const {
    std::lock_guard lock(mutex_);
    return unplayable_reason_;
  }

 private:
  ModelWait& wait_;
  mutable std::mutex mutex_;
  std::shared_ptr<PolicySet> policies_;
  std::shared_ptr<const AgentShape> shape_;
  std::string unplayable_reason_;
  std::atomic<std::uint64_t> unplayable_{0};
};

}  // namespace murmurate
