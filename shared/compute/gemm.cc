#include "shared/compute/gemm.h"

#ifdef MURMURATE_DNNL
#include <dlfcn.h>
#include <dnnl.h>
#endif

namespace murmurate {
namespace {

#ifdef MURMURATE_DNNL
constexpr int kDnnlColumns = 512, kDnnlRows = 64, kDnnlDepth = 64;

/// oneDNN brings the OpenMP runtime it was built with; whichever that is, this thread asks it for
/// one thread (the setting belongs to the thread that calls).
void UseOneThread() {
  thread_local const bool done = [] {
    void* const set = dlsym(RTLD_DEFAULT, "omp_set_num_threads");
    if (set != nullptr) reinterpret_cast<void (*)(int)>(set)(1);
    return true;
  }();
  (void)done;
}

bool DnnlGemm(const GemmCall& call) {
  if (call.columns < kDnnlColumns || call.rows < kDnnlRows || call.depth < kDnnlDepth) return false;
  const bool straight = call.a_column_stride == 1;
  if (!straight && call.a_row_stride != 1) return false;
  UseOneThread();
  const dnnl_status_t status =
      dnnl_sgemm(straight ? 'N' : 'T', 'N', call.rows, call.columns, call.depth, 1.0f, call.a,
                 straight ? call.a_row_stride : call.a_column_stride, call.b, call.b_row_stride,
                 call.accumulate ? 1.0f : 0.0f, call.c, call.c_row_stride);
  if (status != dnnl_success) return false;
  if (call.bias == nullptr && call.epilogue == Epilogue::kNone) return true;
  GemmCall rest = call;  // nothing left to multiply: only the bias and the epilogue
  rest.depth = 0;
  rest.accumulate = true;
  BestDenseKernels().gemm(rest);
  return true;
}
#else
bool DnnlGemm(const GemmCall&) { return false; }
#endif

}  // namespace

void Gemm(const GemmCall& call) {
  if (call.b_transposed == nullptr && DnnlGemm(call)) return;
  BestDenseKernels().gemm(call);
}

}  // namespace murmurate
