#include "server/collective/mpi_world.h"

#include <cstdlib>
#include <cstring>

#include "server/collective/plug_in.h"

namespace murmurate {

MpiWorld world;
std::string last_error;

std::string MpiError(int code) {
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  return std::string(text, static_cast<std::size_t>(length));
}

namespace {

/// Starts MPI; without mpirun, a world of one. "" or a sentence. The same thread calls EndMpi.
std::string StartMpi() {
  // OpenMPI: a process without mpirun would start a daemon, to be able to start others.
  setenv("OMPI_MCA_ess_singleton_isolated", "1", 0);
  int provided = 0;
  if (const int code = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided);
      code != MPI_SUCCESS)
    return "MPI could not start (" + MpiError(code) + ")";
  if (provided < MPI_THREAD_SERIALIZED)
    return "this MPI may only be called by one thread; install one that was built with threads, as "
           "Debian's openmpi-bin is";
  MPI_Comm_dup(MPI_COMM_WORLD, &world.all);
  MPI_Comm_set_errhandler(world.all, MPI_ERRORS_RETURN);
  MPI_Comm_rank(world.all, &world.rank);
  MPI_Comm_size(world.all, &world.size);
  MPI_Comm_dup(world.all, &world.posts);
  MPI_Comm_set_errhandler(world.posts, MPI_ERRORS_RETURN);
  ExchangeHosts();
  return "";
}

const char* Error() { return last_error.c_str(); }

}  // namespace

std::string EndMpi() {
  DropPosts();
  MPI_Comm_free(&world.posts);
  MPI_Comm_free(&world.all);
  const int code = MPI_Finalize();
  return code == MPI_SUCCESS ? "" : "MPI could not end (" + MpiError(code) + ")";
}

}  // namespace murmurate

extern "C" __attribute__((visibility("default"))) const MurmurateCollective*
MurmurateOpenCollective(char* error, std::uint64_t error_bytes) {
  using namespace murmurate;
  static MurmurateCollective functions;
  const std::string why = StartMpi();
  if (!why.empty()) {
    if (error_bytes == 0) return nullptr;
    std::strncpy(error, why.c_str(), error_bytes - 1);
    error[error_bytes - 1] = '\0';
    return nullptr;
  }
  functions = {.version = kMurmurateCollectiveVersion,
               .rank = world.rank,
               .size = world.size,
               .begin_sum = BeginSum,
               .begin_broadcast = BeginBroadcast,
               .done = Done,
               .post = Post,
               .next_post = NextPost,
               .host = HostOf,
               .error = Error,
               .close = Close};
  return &functions;
}
