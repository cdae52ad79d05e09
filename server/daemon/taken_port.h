// Finds the learner that has a port that another one needs. A learner has three in a row: P for
// experience, P + 1 for announcements, P + 2 for weights (SisterAddresses).
#pragma once

#include <string>
#include <vector>

#include "murmurate/status.h"

namespace murmurate {

/// A learner that answers, as `murmurate status` shows it.
struct PortHolder {
  std::string directory;
  int pid = 0;
  std::string listen;  ///< its first address
};

/// "tcp://127.0.0.1:7421, the first of this learner's three ports, is the second of the three of
/// runs/a (process 12), which listens on tcp://127.0.0.1:7420; ..."; "" where no port of the two is
/// the same.
std::string SharedPort(const std::string& listen, const PortHolder& holder);

/// `refused` (kAlreadyRunning), or a Status with SharedPort's sentence where a live learner of this
/// user has one of the three ports. Asks the learners of this user one after the other, and waits
/// at most half a second for each that does not answer.
Status WithPortHolder(Status refused, const std::string& listen, const std::string& runtime_folder);

}  // namespace murmurate
