// collective = "nccl": sums and broadcasts of float32 by NCCL, one GPU for each rank; MPI only
// brings the ranks together. Parameters live in the host's memory, so a sum goes
//
//   values -memcpy-> pinned --copy--> device --ncclAllReduce--> device --copy--> pinned -> values
//                    `------------------- one stream, no call waits ------------------'
//
// Pinned, because a copy to memory that is not would wait for the other ranks inside BeginSum.
#include <cuda_runtime_api.h>
#include <nccl.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "server/collective/mpi_world.h"

namespace murmurate {
namespace {

struct {
  ncclComm_t communicator = nullptr;
  cudaStream_t stream = nullptr;
  int index = 0;  ///< of this rank's GPU
  float *pinned = nullptr, *device = nullptr;
  std::uint64_t room = 0;   ///< floats in each of the two
  float* values = nullptr;  ///< of the operation under way
  std::uint64_t count = 0;
} state;

int Fail(const std::string& sentence) {
  last_error = sentence;
  return -1;
}

int Checked(cudaError_t code) {
  return code == cudaSuccess ? 0 : Fail(std::string("CUDA: ") + cudaGetErrorString(code));
}

int Checked(ncclResult_t code) {
  if (code == ncclSuccess || code == ncclInProgress) return 0;
  return Fail(std::string("NCCL: ") + ncclGetErrorString(code));
}

/// CUDA knows a current GPU for each thread, and any thread may come.
int SelectDevice() { return Checked(cudaSetDevice(state.index)); }

int MakeRoom(std::uint64_t count) {
  if (count <= state.room) return 0;
  cudaFreeHost(state.pinned);
  cudaFree(state.device);
  state.pinned = state.device = nullptr;
  state.room = 0;
  const std::size_t bytes = count * sizeof(float);
  if (Checked(cudaMallocHost(reinterpret_cast<void**>(&state.pinned), bytes)) != 0 ||
      Checked(cudaMalloc(reinterpret_cast<void**>(&state.device), bytes)) != 0)
    return -1;
  state.room = count;
  return 0;
}

/// Copies the values to the device, runs `operation` there, and copies back to pinned memory.
template <typename Operation>
int Begin(float* values, std::uint64_t count, const Operation& operation) {
  if (SelectDevice() != 0 || MakeRoom(count) != 0) return -1;
  const std::size_t bytes = count * sizeof(float);
  std::memcpy(state.pinned, values, bytes);
  state.values = values;
  state.count = count;
  if (Checked(cudaMemcpyAsync(state.device, state.pinned, bytes, cudaMemcpyHostToDevice,
                              state.stream)) != 0 ||
      Checked(operation()) != 0)
    return -1;
  return Checked(
      cudaMemcpyAsync(state.pinned, state.device, bytes, cudaMemcpyDeviceToHost, state.stream));
}

/// "" or why this rank has none.
std::string ChooseDevice() {
  int devices = 0;
  const cudaError_t code = cudaGetDeviceCount(&devices);
  if (code != cudaSuccess) devices = 0;
  state.index = world.host_rank;
  if (state.index < devices) return SelectDevice() == 0 ? "" : last_error;
  const std::string why =
      code == cudaSuccess ? "" : std::string(" (") + cudaGetErrorString(code) + ")";
  return "collective = \"nccl\" needs a GPU for each rank: this host has " +
         std::to_string(world.host_size) + " ranks and " + std::to_string(devices) + " GPUs" + why +
         "; start fewer ranks here, or write collective = \"mpi\"";
}

}  // namespace

std::string Connect() {
  const std::string why = ChooseDevice();
  int ready = why.empty() ? 1 : 0;  // with one rank missing the others would wait for ever
  MPI_Allreduce(MPI_IN_PLACE, &ready, 1, MPI_INT, MPI_MIN, world.all);
  if (!why.empty()) return why;
  if (ready == 0) return "another rank has no GPU for collective = \"nccl\"; it says why";
  ncclUniqueId id{};
  if (world.rank == 0 && Checked(ncclGetUniqueId(&id)) != 0) return last_error;
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, world.all);
  if (Checked(ncclCommInitRank(&state.communicator, world.size, id, world.rank)) != 0 ||
      Checked(cudaStreamCreateWithFlags(&state.stream, cudaStreamNonBlocking)) != 0)
    return last_error;
  return "";
}

int BeginSum(float* values, std::uint64_t count) {
  return Begin(values, count, [count] {
    return ncclAllReduce(state.device, state.device, count, ncclFloat, ncclSum, state.communicator,
                         state.stream);
  });
}

int BeginBroadcast(float* values, std::uint64_t count, std::int32_t root) {
  return Begin(values, count, [count, root] {
    return ncclBroadcast(state.device, state.device, count, ncclFloat, root, state.communicator,
                         state.stream);
  });
}

int Done() {
  ncclResult_t behind = ncclSuccess;
  if (SelectDevice() != 0 || Checked(ncclCommGetAsyncError(state.communicator, &behind)) != 0 ||
      Checked(behind) != 0)
    return -1;
  const cudaError_t code = cudaStreamQuery(state.stream);
  if (code == cudaErrorNotReady) return 0;
  if (Checked(code) != 0) return -1;
  std::memcpy(state.values, state.pinned, state.count * sizeof(float));
  return 1;
}

int Close() {
  last_error.clear();
  (void)SelectDevice();
  (void)Checked(ncclCommDestroy(state.communicator));
  cudaStreamDestroy(state.stream);
  cudaFreeHost(state.pinned);
  cudaFree(state.device);
  const std::string end = EndMpi();
  if (last_error.empty()) last_error = end;
  return last_error.empty() ? 0 : -1;
}

}  // namespace murmurate
