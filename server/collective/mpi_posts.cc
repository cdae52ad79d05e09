// What ranks tell each other beside operations: messages of one number, each to one rank.
#include <array>
#include <string>
#include <vector>

#include "server/collective/mpi_world.h"

namespace murmurate {
namespace {

constexpr int kTag = 1;

/// The last number that went to a rank; it stays where it is until it has left.
struct Sent {
  std::uint64_t number = 0;
  MPI_Request request = MPI_REQUEST_NULL;
};

std::vector<Sent> sent;
std::vector<std::array<char, MPI_MAX_PROCESSOR_NAME>> hosts;

int Failed(int code) {
  last_error = "MPI: " + MpiError(code);
  return -1;
}

}  // namespace

void ExchangeHosts() {
  std::array<char, MPI_MAX_PROCESSOR_NAME> own{};
  int length = 0;
  MPI_Get_processor_name(own.data(), &length);
  hosts.resize(static_cast<std::size_t>(world.size));
  sent.resize(hosts.size());
  MPI_Allgather(own.data(), MPI_MAX_PROCESSOR_NAME, MPI_CHAR, hosts.data(), MPI_MAX_PROCESSOR_NAME,
                MPI_CHAR, world.all);
}

const char* HostOf(std::int32_t rank) { return hosts[static_cast<std::size_t>(rank)].data(); }

int Post(std::uint64_t number) {
  for (int rank = 0; rank < world.size; ++rank) {
    if (rank == world.rank) continue;
    Sent& to = sent[static_cast<std::size_t>(rank)];
    int left = 0;
    if (const int code = MPI_Test(&to.request, &left, MPI_STATUS_IGNORE); code != MPI_SUCCESS)
      return Failed(code);
    if (left == 0) continue;
    to.number = number;
    const int code = MPI_Isend(&to.number, 1, MPI_UINT64_T, rank, kTag, world.posts, &to.request);
    if (code != MPI_SUCCESS) return Failed(code);
  }
  return 0;
}

int NextPost(std::int32_t* rank, std::uint64_t* number) {
  int there = 0;
  MPI_Status status{};
  if (const int code = MPI_Iprobe(MPI_ANY_SOURCE, kTag, world.posts, &there, &status);
      code != MPI_SUCCESS)
    return Failed(code);
  if (there == 0) return 0;
  const int code =
      MPI_Recv(number, 1, MPI_UINT64_T, status.MPI_SOURCE, kTag, world.posts, MPI_STATUS_IGNORE);
  if (code != MPI_SUCCESS) return Failed(code);
  *rank = status.MPI_SOURCE;
  return 1;
}

void DropPosts() {
  std::int32_t rank = 0;
  std::uint64_t number = 0;
  while (NextPost(&rank, &number) > 0) continue;
  for (Sent& to : sent)
    if (to.request != MPI_REQUEST_NULL) MPI_Request_free(&to.request);
}

}  // namespace murmurate
