// ActorRates: what two answers to "status" say of actors that one does not: how fast each is, and
// how old the weights were that it played under lately. One thread.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace murmurate {

class ActorRates {
 public:
  /// Adds to each of the actors of `status` "steps_per_s", since the answer before (of the first
  /// one: since the actor came), and "lag", the mean staleness of its trajectories since they last
  /// were in a batch (null: none ever was). `now_ns`: monotonic, when it was answered. Actors of one
  /// name are told apart by their order.
  void AddTo(nlohmann::json* status, std::int64_t now_ns);

 private:
  struct Counts {
    double steps = 0, trajectories = 0, staleness = 0;  ///< sums so far
    double lag = 0;                                     ///< as last shown
    std::int64_t at_ns = 0;
  };
  using Key = std::pair<std::string, int>;  ///< a name, and which of its actors
  void AddTo(nlohmann::json* actor, const Counts* before, Counts* now) const;

  std::map<Key, Counts> before_;
};

}  // namespace murmurate
