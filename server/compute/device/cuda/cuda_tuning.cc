#include "server/compute/device/cuda/cuda_tuning.h"

#include <algorithm>
#include <optional>

namespace murmurate {
namespace {

constexpr int kTimedRuns = 5;

/// Two marks on a stream.
class Stopwatch {
 public:
  explicit Stopwatch(cudaStream_t stream) : stream_(stream) {
    for (cudaEvent_t& mark : marks_)
      if (cudaEventCreate(&mark) != cudaSuccess) mark = nullptr;
  }
  ~Stopwatch() {
    for (cudaEvent_t mark : marks_)
      if (mark != nullptr) cudaEventDestroy(mark);
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  bool Mark(int which) {
    return marks_[which] != nullptr && cudaEventRecord(marks_[which], stream_) == cudaSuccess;
  }
  /// From mark 0 to mark 1, when both were reached.
  std::optional<float> Milliseconds() {
    float milliseconds = 0;
    if (cudaEventSynchronize(marks_[1]) != cudaSuccess ||
        cudaEventElapsedTime(&milliseconds, marks_[0], marks_[1]) != cudaSuccess)
      return std::nullopt;
    return milliseconds;
  }

 private:
  const cudaStream_t stream_;
  cudaEvent_t marks_[2] = {};
};

/// Of some runs after a first one, which loads what the algorithm needs.
std::optional<float> Milliseconds(const CudaQueue& queue, const std::function<Status()>& run) {
  Stopwatch watch(queue.stream);
  if (!run().ok() || !watch.Mark(0)) return std::nullopt;
  for (int i = 0; i < kTimedRuns; ++i)
    if (!run().ok()) return std::nullopt;
  return watch.Mark(1) ? watch.Milliseconds() : std::nullopt;
}

}  // namespace

int CudaTuning::Choose(const CudaQueue& queue, const std::string& call,
                       std::span<const std::string> names,
                       const std::function<Status(int)>& run) const {
  if (choices == nullptr || names.size() <= 1) return 0;
  const std::string place = call + ", " + device;
  const auto kept = std::ranges::find(names, choices->Find(place));
  if (kept != names.end()) return static_cast<int>(kept - names.begin());
  int fastest = -1;
  float least = 0;
  for (int i = 0; i < static_cast<int>(names.size()); ++i) {
    const auto took = Milliseconds(queue, [&] { return run(i); });
    if (!took || (fastest >= 0 && *took >= least)) continue;
    fastest = i;
    least = *took;
  }
  if (fastest < 0) return 0;
  choices->Keep(place, names[static_cast<std::size_t>(fastest)]);
  return fastest;
}

}  // namespace murmurate
