// The part that both plug-ins have: MPI_COMM_WORLD, started once and ended, and the one symbol that
// murmurate looks up. Their own part are the functions at the end, which each of them defines.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>

namespace murmurate {

struct MpiWorld {
  MPI_Comm all = MPI_COMM_NULL;   ///< a copy of MPI_COMM_WORLD whose errors are returned
  MPI_Comm host = MPI_COMM_NULL;  ///< the ranks of this host
  int rank = 0, size = 1;
  int host_rank = 0, host_size = 1;
};
extern MpiWorld world;
extern std::string last_error;  ///< what MurmurateCollective::error gives

/// MPI's own words for the result of a call.
std::string MpiError(int code);

/// Waits for all ranks. "" or a sentence.
std::string EndMpi();

/// Called once, when the world has started: "" or a sentence that says why there is no collective.
std::string Connect();
/// The functions of MurmurateCollective (plug_in.h).
int BeginSum(float* values, std::uint64_t count);
int BeginBroadcast(float* values, std::uint64_t count, std::int32_t root);
int Done();
int Close();

}  // namespace murmurate
