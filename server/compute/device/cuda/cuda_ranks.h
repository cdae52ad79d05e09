// CudaRanks: sums over ranks by NCCL, which is opened for them. Of a communicator whose calls do not
// wait, so that a rank that never comes is noticed.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "server/compute/device/cuda/cuda_fault.h"
#include "server/compute/device/cuda/cuda_libraries.h"
#include "server/compute/device/cuda/cuda_queue.h"
#include "server/compute/device/rank_sums.h"

namespace murmurate {

/// Sums of the GPU of this index. `fault`: of its device; `queue`: a stream of it. Prepare opens the
/// library; kResource: it is missing, does not start, or this build is without it.
std::unique_ptr<RankSums> MakeCudaRanks(int index, CudaFault* fault,
                                        std::function<CudaQueue(Stream)> queue);

CudaLibraryName NcclName();
/// "2.28.9"; empty: the library does not say.
std::string NcclVersion(const CudaLibrary& library);

}  // namespace murmurate
