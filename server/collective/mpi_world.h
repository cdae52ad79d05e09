// MPI_COMM_WORLD, started once: what both plug-ins begin and end with.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>

namespace murmurate {

/// MPI's own words for what a call gave.
std::string MpiError(int code);

struct MpiWorld {
  MPI_Comm all = MPI_COMM_NULL;   ///< a copy of MPI_COMM_WORLD whose errors are returned
  MPI_Comm host = MPI_COMM_NULL;  ///< those of this host
  int rank = 0, size = 1;
  int host_rank = 0, host_size = 1;
};

/// Without mpirun: a world of one. "" or a sentence. Call from the thread that will call EndMpi.
std::string StartMpi(MpiWorld* world);
/// Waits for all ranks.
std::string EndMpi(MpiWorld* world);

/// Copies a sentence into what a caller of the plug-in gave.
void Say(const std::string& sentence, char* error, std::uint64_t error_bytes);

}  // namespace murmurate
