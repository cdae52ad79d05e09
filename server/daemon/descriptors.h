// Descriptors: what a process of the executable does about the limit of its open files.
//
// libzmq 4.3 aborts the process when a Unix listener meets that limit, and loops without end when a
// TCP listener does. So this program has an accept4 of its own, which libzmq calls in place of
// the C library's: a connection whose descriptor is one of the last kKeptForFiles is closed at
// once, and the listener is told that the peer gave up. Descriptors are given out lowest first, so
// there are always that many left for files, sockets and memory that the process opens itself. None
// of this is in the client library, which is linked into programs of its users.
#pragma once

#include <cstdint>
#include <string>

#include "murmurate/status.h"

namespace murmurate {

inline constexpr int kKeptForFiles = 32;

/// Raises RLIMIT_NOFILE to the hard limit; kResource when that is below 1024.
Status RaiseFileLimit();

/// "1024 files may be open: 970 connections beside those of now; a client takes 1 on this host and
/// 3 over the network"
std::string DescriptorsInWords();

/// The number of connections closed since the process began because descriptors were short.
std::uint64_t ConnectionsTurnedAway();

/// Seeds rand(); to be called before the first socket of a process. libzmq numbers the peers of a
/// socket from rand() on, and a peer that knows the first number can claim a later one as its own,
/// which ends the process.
void BeginRoutingIdsAtRandom();

}  // namespace murmurate
