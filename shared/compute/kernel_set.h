// KernelSet: the instruction sets that each table of kernels is compiled for, and the choice between
// them by asking the processor.
//
// A table is a struct of functions with a static member for each set. Its source is compiled once a
// set (cmake/kernels.cmake) and defines the member of that set; nothing else in such a file is
// visible outside it, so that no function compiled for one processor can stand in for another's.
#pragma once

#include <cstdint>

namespace murmurate {

enum class KernelSet : std::uint8_t { kPlain, kAvx2, kAvx512 };

bool ProcessorRuns(KernelSet set);
/// The fastest set this processor runs, chosen once; MURMURATE_KERNELS=plain|avx2|avx512 in the
/// environment asks for another (plain when the processor cannot run it).
KernelSet BestKernelSet();

/// Null when this processor or this build cannot run the set.
template <typename Table>
const Table* FindKernels(KernelSet set) {
  if (!ProcessorRuns(set)) return nullptr;
#ifdef __x86_64__
  if (set == KernelSet::kAvx512) return &Table::kAvx512;
  if (set == KernelSet::kAvx2) return &Table::kAvx2;
#endif
  return &Table::kPlain;
}

template <typename Table>
const Table& BestKernels() {
  return *FindKernels<Table>(BestKernelSet());
}

}  // namespace murmurate
