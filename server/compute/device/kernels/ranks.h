#pragma once

#include "server/compute/device/calls/ranks.h"
#include "server/compute/device/kernel_language.h"
#include "server/compute/device/kernels/loss.h"

namespace murmurate {

MURMURATE_KERNEL(ShareGradient) {
  const bool adds = !call.joins && call.control->stopped == 0;
  if (GlobalThread() == 0) {
    call.gradient[call.count] = adds ? 1.0f : 0.0f;
    call.control->adds = adds ? 1 : 0;
  }
  if (adds) return;
  for (std::size_t i = GlobalThread(); i < call.count; i += AllThreads()) call.gradient[i] = 0.0f;
}

MURMURATE_KERNEL(CountOwnNorms) {
  MURMURATE_SHARED(double, parts, 32);
  if (call.control->adds == 0) return;
  for (int i = 0; i < 2; ++i) {
    const double squares = SumOfParts(call.parts + i, call.blocks, 2, parts);
    if (Thread() == 0) call.control->sums[call.norm_sums + i] += sqrt(squares);
  }
}

MURMURATE_KERNEL(DivideByRanks) {
  const float ranks = call.gradient[call.count];
  if (!(ranks > 1.0f)) return;
  for (std::size_t i = GlobalThread(); i < call.count; i += AllThreads()) call.gradient[i] /= ranks;
}

}  // namespace murmurate
