// RankSums: sums over the devices of several processes, the ranks of a job, each of which has a device
// of its own. A Device has them or not (Device::rank_sums).
//
//   cuda_ranks.h (in the plug-in)   NCCL
//   tests/device/host_ranks.h       threads of one process
//
// Every rank enqueues the same sums, of the same lengths, in the same order, whatever graphs they are
// part of. The thread of the device.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <string>

#include "murmurate/status.h"
#include "server/compute/device/device.h"

namespace murmurate {

/// What rank 0 makes, and all ranks join by.
using RankId = std::array<std::byte, 128>;

class RankSums {
 public:
  virtual ~RankSums() = default;

  /// kResource: why there are no sums here (a library is missing), as one sentence.
  virtual Status Prepare() = 0;
  virtual Result<RankId> MakeId() = 0;

  /// What is called again and again while the host waits for other ranks; not ok: it gives up.
  using Waiting = std::function<Status()>;
  /// Waits until all ranks have called it; once, after Prepare. `waiting` is kept. kResource: the
  /// library's words, or what `waiting` gave.
  virtual Status Join(const RankId& id, int rank, int size, Waiting waiting) = 0;

  /// Enqueues: `data`, memory of the device, becomes the sum over the ranks, the same bits on every
  /// rank. May be part of a graph. What it needs is made when the first one is enqueued, which is not
  /// into a graph.
  virtual void Sum(Stream stream, float* data, std::size_t count) = 0;

  /// Never waits. kResource: sums that were enqueued will not end, as the library has noticed.
  virtual Status Health() = 0;

  /// Ends the sums that some rank does not come to. What was enqueued behind them has no meaning; the
  /// device's error() is `why` from then on.
  virtual void Abort(const std::string& why) = 0;
};

}  // namespace murmurate
