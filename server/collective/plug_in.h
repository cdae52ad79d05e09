// The interface of murmurate and a plug-in that carries its collectives (mpi.cc): C
// functions and nothing else, so that a daemon links no MPI and runs where there is none. A plug-in is murmurate_collective_NAME.so; server/parameters/collective.h loads it and says
// what the functions promise.
//
// One operation at a time: begin, then `done` until it says 1. All ranks begin the same ones in the
// same order. Nothing waits but MurmurateOpenCollective and `close`. One thread at a time.
#pragma once

#include <cstdint>

extern "C" {

inline constexpr std::uint32_t kMurmurateCollectiveVersion = 2;

struct MurmurateCollective {
  std::uint32_t version;  ///< kMurmurateCollectiveVersion, first whatever follows
  std::int32_t rank, size;
  /// 0; or -1, and `error` says why. `values` stays where it is until the operation is done.
  int (*begin_sum)(float* values, std::uint64_t count);
  int (*begin_broadcast)(float* values, std::uint64_t count, std::int32_t root);
  int (*done)();  ///< 1; 0: not yet; -1: it failed
  // Beside operations, at any time; 0 (next_post: 1: one came) or -1.
  int (*post)(std::uint64_t number);  ///< to all other ranks
  int (*next_post)(std::int32_t* rank, std::uint64_t* number);
  const char* (*host)(std::int32_t rank);  ///< its name; valid until `close`
  const char* (*error)();                  ///< of the last -1; valid until the next call
  int (*close)();  ///< waits for all ranks; nothing else may be called afterwards
};

/// The one symbol that is looked up. Waits for all ranks. Null: a sentence, ended by a zero, lies
/// in `error`.
typedef const MurmurateCollective* (*MurmurateOpenCollectiveFunction)(char* error,
                                                                      std::uint64_t error_bytes);

}  // extern "C"
