// What the stand-in for cuBLASLt (fake_cublaslt.cc) was asked for, and how it is to answer.
#pragma once

#include <cublasLt.h>

#include <cstdint>

struct FakeCublasLt {
  cublasComputeType_t refused = CUBLAS_COMPUTE_16F;  ///< it proposes nothing for this type
  int proposals = 0, products = 0;
  int algorithms = 1;                    ///< that it proposes
  float milliseconds[4] = {1, 1, 1, 1};  ///< that a product by each takes
  int last = -1;                         ///< the algorithm of the last product
  float clock = 0;                       ///< milliseconds of all products
  cublasComputeType_t type{};            ///< of the last proposal
  std::uint64_t workspace_bytes = 0;
  std::uint32_t reduction_schemes = 0;
  std::uint32_t alignments[4] = {};  ///< of A, B, C, D
};

/// Looked up in the library as "FakeCublasLtState".
extern "C" FakeCublasLt* FakeCublasLtState();
