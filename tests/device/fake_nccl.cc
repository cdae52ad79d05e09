// A stand-in for NCCL with the functions that are used: a communicator whose calls return before they
// are done, and whose ranks all have the same numbers in host memory.
#include "tests/device/fake_nccl.h"

#include <cstring>

namespace {

FakeNccl state;
int asks_left = 0;

ncclComm_t Communicator() { return reinterpret_cast<ncclComm_t>(&state); }

}  // namespace

extern "C" {

FakeNccl* FakeNcclState() { return &state; }

ncclResult_t ncclGetVersion(int* version) {
  *version = 22809;
  return ncclSuccess;
}
ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  std::memset(id, 5, sizeof *id);
  return state.fails;
}
ncclResult_t ncclCommInitRankConfig(ncclComm_t* communicator, int size, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  if (id.internal[0] != 5 || id.internal[NCCL_UNIQUE_ID_BYTES - 1] != 5) return ncclInvalidArgument;
  state.size = size;
  state.rank = rank;
  state.blocking = config->blocking;
  asks_left = state.asks;
  *communicator = Communicator();
  return ncclInProgress;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t communicator, ncclResult_t* code) {
  if (communicator != Communicator()) return ncclInvalidArgument;
  *code = asks_left > 0 ? ncclInProgress : state.fails;
  if (asks_left > 0) --asks_left;
  return ncclSuccess;
}
ncclResult_t ncclAllReduce(const void* from, void* to, size_t count, ncclDataType_t type,
                           ncclRedOp_t operation, ncclComm_t communicator, cudaStream_t stream) {
  if (from != to || type != ncclFloat || operation != ncclSum || communicator != Communicator())
    return ncclInvalidArgument;
  auto* const numbers = static_cast<float*>(to);
  for (size_t i = 0; i < count; ++i) numbers[i] *= static_cast<float>(state.size);
  ++state.sums;
  state.count = count;
  state.stream = stream;
  asks_left = state.asks;
  return ncclInProgress;
}
ncclResult_t ncclCommAbort(ncclComm_t) {
  ++state.aborts;
  return ncclSuccess;
}
const char* ncclGetErrorString(ncclResult_t code) {
  return code == ncclRemoteError ? "remote process exited" : "failed";
}
const char* ncclGetLastError(ncclComm_t) { return "Duplicate GPU detected"; }

}  // extern "C"
