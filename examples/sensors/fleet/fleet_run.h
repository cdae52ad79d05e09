// The run of a made-up fleet of sensors that publishes to a broker, or sends its samples to a
// stream that listens: from its first message until its time is over.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "murmurate/status.h"

namespace murmurate {

struct FleetArguments {
  std::string connect;  ///< tcp:// or ipc://; "": the broker
  std::string broker = "mqtt://localhost:1883", topic = "sensors/{device}/data";
  std::string committed, status;  ///< where the learner says what is safe, and that it is there
  int devices = 10;
  double rate = 1, seconds = 30, noise = 0.2;
  std::optional<double> drift_at_s;
  std::uint64_t seed = 1;
  bool insecure = false;
  bool quiet = false;  ///< only warnings and errors
};

/// Returns when all is sent and safe, at the end of its time, or at a signal.
Status RunFleet(const FleetArguments& arguments);

}  // namespace murmurate
