// Whose port it is that a learner cannot have. A learner listens on three in a row: P for
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

/// What `refused` (kAlreadyRunning) says, or more where a live learner of this user has one of the
/// three ports. Asks them, which takes up to half a second for one that does not answer.
Status WithPortHolder(Status refused, const std::string& listen, const std::string& runtime_folder);

}  // namespace murmurate
