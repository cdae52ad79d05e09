// HostDevice: the Device of server/compute/device/device.h on this processor, for tests: the same
// kernels, and what a GPU forbids is an error here.
//
//   * Enqueued work waits: it is done in Await, Reached and Free, in an order that streams and events
//     allow. Await does no more than what its event asks for, and Reached a few pieces (seeds 0 and
//     1: all), so that what is read too early, or without an event, is wrong. Every eighth seed (7,
//     15, ...) does some as other work is enqueued, so that what is written too late is wrong, too.
//   * Memory that Allocate gives is not a number until it is written, and what computes with it is
//     known (unwritten). The host cannot touch it, and the device takes no memory of the host but for
//     copies, which must be done before pinned memory is freed; each ends the program.
//   * Between barriers the threads of a block run in an order of the seed's choice.
//
// Products and convolutions are computed by the learner's own functions, in 32 bits; those of pictures of
// bf16 of rounded numbers.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <set>
#include <string>

#include "server/compute/device/device.h"
#include "server/compute/device/rank_sums.h"
#include "tests/device/host_copies.h"
#include "tests/device/host_graphs.h"
#include "tests/device/host_memory.h"
#include "tests/device/host_mutation.h"
#include "tests/device/kernel_block.h"
#include "tests/device/launch_recording.h"
#include "tests/device/stream_queues.h"

namespace murmurate {

struct HostDeviceOptions {
  /// Of every order: 0: as it was enqueued, threads from the first on; 1: threads from the last on;
  /// others: at random.
  std::uint64_t seed = 0;
  std::size_t memory_bytes = std::size_t{4} << 30;
  std::size_t pinned_bytes = std::size_t{4} << 30;
  int multiprocessors = 4;
  ElementType pictures = ElementType::kFloat32;
  Poison poison = Poison::kDoubles;
  /// Runs the kernels; null: a FiberRunner of the seed.
  std::unique_ptr<KernelRunner> runner = nullptr;
};

class HostDevice : public Device {
 public:
  explicit HostDevice(HostDeviceOptions options = {});
  ~HostDevice() override;

  DeviceDescription description() override;
  std::string error() const override { return error_; }
  RankSums* rank_sums() override { return rank_sums_.get(); }

  void* Allocate(std::size_t bytes) override;
  void Free(void* memory) override;
  std::byte* AllocatePinned(std::size_t bytes) override;
  void FreePinned(std::byte* memory) override;

  void CopyIn(Stream stream, void* device, const void* host, std::size_t bytes) override;
  void CopyOut(Stream stream, void* host, const void* device, std::size_t bytes) override;
  void CopyWithin(Stream stream, void* to, const void* from, std::size_t bytes) override;
  void ClearMemory(Stream stream, void* device, std::size_t bytes) override;
  void Multiply(Stream stream, const ProductCall& call) override;
  void Convolve(Stream stream, const ConvolutionCall& call) override;

  DeviceEvent MakeEvent() override;
  void DropEvent(DeviceEvent event) override;
  void Record(Stream stream, DeviceEvent event) override;
  void WaitFor(Stream stream, DeviceEvent event) override;
  bool Reached(DeviceEvent event) override;
  void Await(DeviceEvent event) override;

  void BeginGraph(Stream stream) override;
  DeviceGraph EndGraph(Stream stream) override;
  void Replay(Stream stream, DeviceGraph graph) override;
  void DropGraph(DeviceGraph graph) override;

  // For tests.
  /// The device is lost at the call after the next `calls` that enqueue something (a Replay is one).
  void FailAfter(std::uint64_t calls) { calls_left_ = static_cast<std::int64_t>(calls); }
  /// Does all that was enqueued.
  void Finish();
  bool finished() const { return queues_.empty(); }
  /// Blocks of device memory, bytes of pinned memory, events and graphs that were not given back.
  std::size_t blocks() const { return memory_.blocks(); }
  /// Sums over ranks (host_ranks.h).
  void GiveRankSums(std::unique_ptr<RankSums> sums) { rank_sums_ = std::move(sums); }
  /// Enqueues work on memory of the device.
  void EnqueueWhenReady(Stream stream, const void* memory, std::size_t bytes, DeviceWork work);
  /// The device is lost, as `why` says.
  void Fail(const std::string& why);
  std::size_t pinned_bytes() const { return pinned_used_; }
  std::size_t events() const { return queues_.events(); }
  std::size_t graphs() const { return graphs_.graphs(); }
  /// Kernels, products and convolutions that computed with memory that was not written: a signalling
  /// NaN, as the processor noted it (FE_INVALID; so it notes an infinity less an infinity, too).
  const std::set<std::string>& unwritten() const { return unwritten_; }
  /// Calls so far that enqueued something, or recorded it into a graph.
  std::uint64_t calls() const { return calls_; }

 protected:
  void LaunchKernel(Stream stream, KernelId kernel, const Grid& grid, const void* call,
                    std::size_t bytes) override;

 private:
  /// Counts a call; false: the device is lost.
  bool Begin();
  void Enqueue(Stream stream, DeviceWork work);
  void DoOneOrYield();
  /// Some of what was enqueued, where the seed is for that.
  void RunAhead();
  void RunKernel(KernelId kernel, const Grid& grid, const void* call);
  /// Does work, and notes its name where it computes with what was not written.
  template <typename Work>
  void Watch(const char* name, const Work& work);
  /// Aborts with the sentence unless the memory is the device's.
  void CheckDevice(const void* memory, std::size_t bytes, const char* what) const;

  const std::uint64_t seed_;
  std::mt19937_64 random_{seed_};
  const std::size_t memory_bytes_, pinned_bytes_;
  const int multiprocessors_;
  const ElementType pictures_;
  const Poison poison_;
  std::unique_ptr<KernelRunner> runner_;
  std::unique_ptr<LaunchRecorder> recorder_ = LaunchRecorder::OfEnvironment();
  std::atomic<std::size_t> pinned_used_ = 0;
  HostMemory memory_;
  HostCopies copies_;
  StreamQueues queues_;
  HostMutation mutation_ = HostMutation::OfEnvironment();
  HostGraphs graphs_;
  std::unique_ptr<RankSums> rank_sums_;
  std::string error_;
  std::set<std::string> unwritten_;
  std::uint64_t calls_ = 0;
  std::int64_t calls_left_ = -1;  ///< until the device is lost; -1: it never is
};

}  // namespace murmurate
