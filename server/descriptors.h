// Descriptors: what a process of the executable does about the limit of its open files.
//
// libzmq 4.3 aborts the process when a Unix listener meets that limit, and turns in a circle when a
// TCP listener does. So this program brings an accept4 of its own, which libzmq calls in place of
// the C library's: a connection whose descriptor is one of the last kKeptForFiles is closed at
// once, and the listener is told that the peer gave up. Descriptors are given out lowest first, so
// there are always that many left for files, sockets and memory that the process opens itself. None
// of this is in the client library, which lives in somebody else's program.
#pragma once

#include <cstdint>
#include <string>

#include "murmurate/status.h"

namespace murmurate {

inline constexpr int kKeptForFiles = 32;

/// RLIMIT_NOFILE up to what is allowed; kResource when even that is below 1024.
Status RaiseFileLimit();

/// "1024 files may be open: 970 connections beside those of now; a client takes 1 on this host and
/// 3 over the network"
std::string DescriptorsInWords();

/// Connections that were turned away since the process began, for want of descriptors.
std::uint64_t ConnectionsTurnedAway();

/// Before the first socket of a process: libzmq numbers the peers of a socket from rand(), and a
/// peer that knows where it begins can take a number that is to come, which ends the process.
void BeginRoutingIdsAtRandom();

}  // namespace murmurate
