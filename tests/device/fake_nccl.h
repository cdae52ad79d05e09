// What the stand-in for NCCL was asked for, and what it is to answer.
#pragma once

#include <nccl.h>

#include <cstddef>

struct FakeNccl {
  int asks = 2;                      ///< of its state until what was begun is done
  ncclResult_t fails = ncclSuccess;  ///< what is then, and in CommGetAsyncError from now on
  int size = 0, rank = -1, blocking = -1;
  int sums = 0, aborts = 0;
  std::size_t count = 0;  ///< of the last sum
  void* stream = nullptr;
};

/// Looked up in the library as "FakeNcclState".
extern "C" FakeNccl* FakeNcclState();
