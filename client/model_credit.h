// ModelCredit: how many trajectories of a model may begin: the steps that the learner has granted
// in this session, and the trajectories that count against them. mmr-client grants, agents reserve.
#pragma once

#include <atomic>
#include <cstdint>

namespace murmurate {

class ModelCredit {
 public:
  /// Steps granted in this session, all together.
  void Grant(std::uint64_t steps_total) {
    steps_total_.store(steps_total, std::memory_order_release);
  }
  /// True when there is credit for one more trajectory of so many steps.
  bool Has(int trajectory_length) const {
    return Covers(begun_.load(std::memory_order_acquire), trajectory_length);
  }
  /// Takes it if there is any.
  bool Reserve(int trajectory_length) {
    std::int64_t begun = begun_.load(std::memory_order_acquire);
    do {
      if (!Covers(begun, trajectory_length)) return false;
      // guard: ClientModel.CreditIsNotSpentTwice: credit is reserved by compare-and-swap
    } while (!begun_.compare_exchange_weak(begun, begun + 1, std::memory_order_acq_rel));
    return true;
  }
  /// Counts a trajectory that begins without asking for credit.
  void Overdraw() { begun_.fetch_add(1, std::memory_order_acq_rel); }
  /// Trajectories that count no longer: one was dropped, or a new session begins and so many were
  /// sent in the last one.
  void GiveBack(std::int64_t trajectories = 1) {
    begun_.fetch_sub(trajectories, std::memory_order_acq_rel);
  }
  /// Trajectories that need credit of this session: begun or waiting, and sent in it.
  std::int64_t begun() const { return begun_.load(std::memory_order_acquire); }

 private:
  bool Covers(std::int64_t begun, int trajectory_length) const {
    const std::uint64_t needed =
        static_cast<std::uint64_t>(begun + 1) * static_cast<std::uint64_t>(trajectory_length);
    return needed <= steps_total_.load(std::memory_order_acquire);
  }

  std::atomic<std::uint64_t> steps_total_{0};
  std::atomic<std::int64_t> begun_{0};
};

}  // namespace murmurate
