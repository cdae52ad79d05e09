#include "server/collective/mpi_world.h"

#include <cstdlib>
#include <cstring>

namespace murmurate {

std::string MpiError(int code) {
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  return std::string(text, static_cast<std::size_t>(length));
}

std::string StartMpi(MpiWorld* world) {
  // OpenMPI: a process without mpirun would start a daemon, to be able to start others.
  setenv("OMPI_MCA_ess_singleton_isolated", "1", 0);
  int provided = 0;
  if (const int code = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
      code != MPI_SUCCESS)
    return "MPI could not start (" + MpiError(code) + ")";
  if (provided < MPI_THREAD_SERIALIZED)
    return "this MPI may only be called by one thread; install one that was built with threads, as "
           "Debian's openmpi-bin is";
  MPI_Comm_dup(MPI_COMM_WORLD, &world->all);
  MPI_Comm_set_errhandler(world->all, MPI_ERRORS_RETURN);
  MPI_Comm_rank(world->all, &world->rank);
  MPI_Comm_size(world->all, &world->size);
  MPI_Comm_split_type(world->all, MPI_COMM_TYPE_SHARED, world->rank, MPI_INFO_NULL, &world->host);
  MPI_Comm_rank(world->host, &world->host_rank);
  MPI_Comm_size(world->host, &world->host_size);
  return "";
}

std::string EndMpi(MpiWorld* world) {
  MPI_Comm_free(&world->host);
  MPI_Comm_free(&world->all);
  const int code = MPI_Finalize();
  return code == MPI_SUCCESS ? "" : "MPI could not end (" + MpiError(code) + ")";
}

void Say(const std::string& sentence, char* error, std::uint64_t error_bytes) {
  if (error_bytes == 0) return;
  std::strncpy(error, sentence.c_str(), error_bytes - 1);
  error[error_bytes - 1] = '\0';
}

}  // namespace murmurate
