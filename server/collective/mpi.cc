// collective = "mpi": sums and broadcasts of float32 by whatever MPI this was built with.
//
// Nonblocking operations: the caller asks whether they are done, and decides itself how to wait.
// Every rank gets the same bits, because each algorithm of an all-reduce of OpenMPI 4 either
// computes a part of the sum once and hands it out, or lets partners add the same two numbers; a
// test compares them (tests/parameters/collective_conformance.cc).
#include <limits>
#include <string>

#include "server/collective/mpi_world.h"

namespace murmurate {
namespace {

constexpr std::uint64_t kMostFloats = std::numeric_limits<int>::max();

MPI_Request request = MPI_REQUEST_NULL;

int Checked(int code) {
  if (code == MPI_SUCCESS) return 0;
  last_error = "MPI: " + MpiError(code);
  return -1;
}

bool Fits(std::uint64_t count) {
  if (count > kMostFloats) last_error = "MPI counts to 2^31 - 1 numbers, and this model has more";
  return count <= kMostFloats;
}

}  // namespace

int BeginSum(float* values, std::uint64_t count) {
  if (!Fits(count)) return -1;
  return Checked(MPI_Iallreduce(MPI_IN_PLACE, values, static_cast<int>(count), MPI_FLOAT, MPI_SUM,
                                world.all, &request));
}

int BeginBroadcast(float* values, std::uint64_t count, std::int32_t root) {
  if (!Fits(count)) return -1;
  return Checked(MPI_Ibcast(values, static_cast<int>(count), MPI_FLOAT, root, world.all, &request));
}

int Done() {
  int done = 0;
  if (Checked(MPI_Test(&request, &done, MPI_STATUS_IGNORE)) != 0) return -1;
  return done != 0 ? 1 : 0;
}

int Close() {
  last_error = EndMpi();
  return last_error.empty() ? 0 : -1;
}

}  // namespace murmurate
