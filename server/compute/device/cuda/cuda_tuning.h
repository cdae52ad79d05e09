// CudaTuning: how the libraries' algorithms are chosen: by time, once for each shape, and kept.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>

#include "murmurate/status.h"
#include "server/compute/device/algorithm_choices.h"
#include "server/compute/device/cuda/cuda_queue.h"

namespace murmurate {

struct CudaTuning {
  std::shared_ptr<AlgorithmChoices> choices;  ///< null: a library's first proposal is taken
  std::string device;                         ///< "NVIDIA H200, bf16, deterministic"

  /// How many proposals are worth asking for.
  int most() const { return choices == nullptr ? 1 : 4; }

  /// The number of the algorithm to take, of those with these names. `call`: library, version and
  /// shape. `run` enqueues the computation by one of them, whose result is overwritten later; it is
  /// called where none was kept, and the host waits for the stream then. 0 where none could be run.
  int Choose(const CudaQueue& queue, const std::string& call, std::span<const std::string> names,
             const std::function<Status(int)>& run) const;
};

}  // namespace murmurate
