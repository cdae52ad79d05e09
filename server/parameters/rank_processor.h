// RankProcessor: what sums gradients and steps parameters in place of a CollectiveStore, where every
// rank has one: devices that reach each other without the host.
#pragma once

#include <functional>
#include <string>

#include "murmurate/status.h"

namespace murmurate {

class RankProcessor {
 public:
  virtual ~RankProcessor() = default;

  /// kResource: one sentence that says why it cannot.
  virtual Status Prepare() = 0;
  /// What rank 0 makes, and all ranks join by: some hundred bytes.
  virtual Result<std::string> MakeId() = 0;
  /// Waits until all ranks have called it. `waiting` is called again and again whenever it waits for
  /// them, now and later; not ok: it gives up.
  virtual Status Join(const std::string& id, int rank, int size,
                      std::function<Status()> waiting) = 0;
};

}  // namespace murmurate
