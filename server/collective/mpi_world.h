// What the plug-in has of MPI: MPI_COMM_WORLD, started once and ended, and the one symbol that
// murmurate looks up. mpi.cc has the operations, mpi_posts.cc what ranks tell each other beside them.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>

namespace murmurate {

struct MpiWorld {
  MPI_Comm all = MPI_COMM_NULL;    ///< a copy of MPI_COMM_WORLD whose errors are returned
  MPI_Comm posts = MPI_COMM_NULL;  ///< another copy, beside operations
  int rank = 0, size = 1;
};
extern MpiWorld world;
extern std::string last_error;  ///< what MurmurateCollective::error gives

/// MPI's own words for the result of a call.
std::string MpiError(int code);

/// Waits for all ranks. "" or a sentence.
std::string EndMpi();

/// The functions of MurmurateCollective (plug_in.h).
int BeginSum(float* values, std::uint64_t count);
int BeginBroadcast(float* values, std::uint64_t count, std::int32_t root);
int Done();
int Post(std::uint64_t number);
int NextPost(std::int32_t* rank, std::uint64_t* number);
const char* HostOf(std::int32_t rank);
int Close();

/// As the world starts: every rank gets the names of all hosts.
void ExchangeHosts();
/// As it ends.
void DropPosts();

}  // namespace murmurate
