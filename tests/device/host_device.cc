#include "tests/device/host_device.h"

#include <cfenv>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "shared/core/check.h"
#include "tests/device/call_pointers.h"
#include "tests/device/fiber_runner.h"
#include "tests/device/host_kernels.h"
#include "tests/device/host_library.h"

namespace murmurate {
namespace {

constexpr std::size_t kBorder = 256;

/// Device memory may be touched while one lives.
class OpenMemory {
 public:
  explicit OpenMemory(HostMemory* memory) : memory_(memory) { memory_->Open(); }
  ~OpenMemory() { memory_->Close(); }
  OpenMemory(const OpenMemory&) = delete;
  OpenMemory& operator=(const OpenMemory&) = delete;

 private:
  HostMemory* const memory_;
};

}  // namespace

HostDevice::HostDevice(HostDeviceOptions options)
    : seed_(options.seed),
      memory_bytes_(options.memory_bytes),
      pinned_bytes_(options.pinned_bytes),
      multiprocessors_(options.multiprocessors),
      pictures_(options.pictures),
      poison_(options.poison),
      runner_(options.runner != nullptr ? std::move(options.runner)
                                        : std::make_unique<FiberRunner>(options.seed)),
      memory_(options.memory_bytes, options.poison),
      queues_(options.seed) {}

HostDevice::~HostDevice() = default;

DeviceDescription HostDevice::description() {
  return {.name = "host device",
          .driver = "",
          .libraries = "",
          .multiprocessors = multiprocessors_,
          .memory_bytes = memory_bytes_,
          .free_bytes = memory_.free_bytes(),
          .arithmetic = {.pictures = pictures_}};
}

bool HostDevice::Begin() {
  if (!error_.empty()) return false;
  if (calls_left_ == 0) {
    Fail("host device: the device was lost");
    return false;
  }
  if (calls_left_ > 0) --calls_left_;
  ++calls_;
  return true;
}

void HostDevice::Fail(const std::string& why) {
  error_ = why;
  queues_.Clear();
  copies_.Forget();
}

void HostDevice::EnqueueWhenReady(Stream stream, const void* memory, std::size_t bytes,
                                  DeviceWork work) {
  if (!Begin()) return;
  CheckDevice(memory, bytes, "a sum over ranks is of memory of the device");
  Enqueue(stream, std::move(work));
}

void HostDevice::Enqueue(Stream stream, DeviceWork work) {
  if (graphs_.Records(stream)) return graphs_.Add(std::move(work));
  queues_.Enqueue(stream, std::move(work));
  RunAhead();
}

void HostDevice::RunAhead() {
  if (seed_ % 8 != 7) return;
  std::bernoulli_distribution more(0.5);  // about as much as is enqueued
  const OpenMemory open(&memory_);
  while (more(random_) && queues_.DoOne()) {
  }
}

void HostDevice::CheckDevice(const void* memory, std::size_t bytes, const char* what) const {
  MURMURATE_CHECK(memory_.Holds(memory, bytes), what);
}

void* HostDevice::Allocate(std::size_t bytes) {
  return error_.empty() ? memory_.Allocate(bytes) : nullptr;
}

void HostDevice::Free(void* memory) {
  MURMURATE_CHECK(!graphs_.recording(), "Free is not part of a graph");
  if (memory == nullptr) return;
  Finish();
  memory_.Free(memory);
}

std::byte* HostDevice::AllocatePinned(std::size_t bytes) {
  const std::size_t all = kBorder + (bytes + kBorder - 1) / kBorder * kBorder;
  if (pinned_used_.fetch_add(all) + all > pinned_bytes_) {
    pinned_used_ -= all;
    return nullptr;
  }
  auto* const memory = static_cast<std::byte*>(std::aligned_alloc(kBorder, all));
  if (memory == nullptr) return nullptr;
  std::memcpy(memory, &all, sizeof all);
  FillWith(poison_, memory + kBorder, bytes);
  return memory + kBorder;
}

void HostDevice::FreePinned(std::byte* memory) {
  if (memory == nullptr) return;
  std::size_t all = 0;
  std::memcpy(&all, memory - kBorder, sizeof all);
  MURMURATE_CHECK(!copies_.Touch(memory, all - kBorder), "pinned memory stays until it is copied");
  pinned_used_ -= all;
  std::free(memory - kBorder);
}

void HostDevice::CopyIn(Stream stream, void* device, const void* host, std::size_t bytes) {
  MURMURATE_CHECK(!graphs_.Records(stream), "copies of host memory are not part of a graph");
  if (!Begin()) return;
  CheckDevice(device, bytes, "CopyIn writes memory of the device");
  MURMURATE_CHECK(!memory_.Touches(host, bytes), "CopyIn reads memory of the host");
  copies_.Begin(host, bytes);
  Enqueue(stream, [=, this] {
    std::memcpy(device, host, bytes);
    copies_.End(host, bytes);
  });
}

void HostDevice::CopyOut(Stream stream, void* host, const void* device, std::size_t bytes) {
  MURMURATE_CHECK(!graphs_.Records(stream), "copies of host memory are not part of a graph");
  if (!Begin()) return;
  CheckDevice(device, bytes, "CopyOut reads memory of the device");
  MURMURATE_CHECK(!memory_.Touches(host, bytes), "CopyOut writes memory of the host");
  copies_.Begin(host, bytes);
  Enqueue(stream, [=, this] {
    std::memcpy(host, device, bytes);
    copies_.End(host, bytes);
  });
}

void HostDevice::CopyWithin(Stream stream, void* to, const void* from, std::size_t bytes) {
  if (!Begin()) return;
  CheckDevice(to, bytes, "CopyWithin writes memory of the device");
  CheckDevice(from, bytes, "CopyWithin reads memory of the device");
  Enqueue(stream, [=] { std::memcpy(to, from, bytes); });
}

void HostDevice::ClearMemory(Stream stream, void* device, std::size_t bytes) {
  if (!Begin()) return;
  CheckDevice(device, bytes, "ClearMemory writes memory of the device");
  Enqueue(stream, [=] { std::memset(device, 0, bytes); });
}

void HostDevice::Multiply(Stream stream, const ProductCall& call) {
  if (!Begin()) return;
  MURMURATE_CHECK(call.rows > 0 && call.columns > 0 && call.depth > 0, "a product has numbers");
  const ProductExtents extents = ExtentsOf(call);
  CheckDevice(call.a, extents.a * sizeof(float), "a product's a is memory of the device");
  CheckDevice(call.b, extents.b * sizeof(float), "a product's b is memory of the device");
  CheckDevice(call.c, extents.c * sizeof(float), "a product's c is memory of the device");
  Enqueue(stream, [this, call] { Watch("Multiply", [&] { HostMultiply(call); }); });
}

void HostDevice::Convolve(Stream stream, const ConvolutionCall& call) {
  if (!Begin()) return;
  const ConvolutionExtents extents = ExtentsOf(call);
  MURMURATE_CHECK(extents.output > 0, "a convolution's kernel fits its picture");
  CheckDevice(call.input, extents.input * BytesOf(call.pictures),
              "the input is memory of the device");
  CheckDevice(call.weight, extents.weight * sizeof(float), "the weight is memory of the device");
  CheckDevice(call.output, extents.output * BytesOf(call.pictures),
              "the output is memory of the device");
  Enqueue(stream, [this, call] { Watch("Convolve", [&] { HostConvolve(call); }); });
}

void HostDevice::LaunchKernel(Stream stream, KernelId id, const Grid& grid, const void* call,
                              std::size_t bytes) {
  if (!Begin()) return;
  const HostKernel& kernel = HostKernelOf(id);
  MURMURATE_CHECK(bytes == kernel.call_bytes, "a kernel is launched with its own call");
  CheckGrid(kernel, grid);
  std::vector<std::max_align_t> copy((bytes + sizeof(std::max_align_t) - 1) /
                                     sizeof(std::max_align_t));
  std::memcpy(copy.data(), call, bytes);
  CheckPointers(kernel, call, memory_);
  Enqueue(stream, [this, id, grid, copy = std::move(copy)] { RunKernel(id, grid, copy.data()); });
}

void HostDevice::RunKernel(KernelId kernel, const Grid& grid, const void* call) {
  mutation_.BeforeKernel(kernel, call);
  Watch(HostKernelOf(kernel).name, [&] {
    if (recorder_ != nullptr) return recorder_->Run(runner_.get(), kernel, grid, call, memory_);
    runner_->Run(HostKernelOf(kernel), grid, call);
  });
}

template <typename Work>
void HostDevice::Watch(const char* name, const Work& work) {
  std::feclearexcept(FE_INVALID);
  work();
  if (std::fetestexcept(FE_INVALID) != 0) unwritten_.insert(name);
  std::feclearexcept(FE_INVALID);
}

DeviceEvent HostDevice::MakeEvent() { return queues_.MakeEvent(); }

void HostDevice::DropEvent(DeviceEvent event) {
  if (event >= 0) queues_.DropEvent(event);
}

void HostDevice::Record(Stream stream, DeviceEvent event) {
  MURMURATE_CHECK(!graphs_.Records(stream), "events are not part of a graph");
  if (mutation_.LeavesOut(__builtin_return_address(0))) return;
  if (Begin()) queues_.Record(stream, event);
}

void HostDevice::WaitFor(Stream stream, DeviceEvent event) {
  MURMURATE_CHECK(!graphs_.Records(stream), "events are not part of a graph");
  if (mutation_.LeavesOut(__builtin_return_address(0))) return;
  if (Begin()) queues_.WaitFor(stream, event);
}

bool HostDevice::Reached(DeviceEvent event) {
  const OpenMemory open(&memory_);
  while (queues_.DoOne() && seed_ < 2) {
  }
  return queues_.Reached(event);
}

void HostDevice::Await(DeviceEvent event) {
  if (queues_.Reached(event)) return;
  const OpenMemory open(&memory_);
  while (!queues_.Reached(event) && !queues_.empty()) DoOneOrYield();
}

void HostDevice::Finish() {
  if (queues_.empty()) return;
  const OpenMemory open(&memory_);
  while (!queues_.empty()) DoOneOrYield();
}

/// Other ranks may have to do theirs first.
void HostDevice::DoOneOrYield() {
  if (!queues_.DoOne()) std::this_thread::yield();
}

void HostDevice::BeginGraph(Stream stream) { graphs_.Begin(stream); }

DeviceGraph HostDevice::EndGraph(Stream stream) {
  const DeviceGraph graph = graphs_.End(stream);
  if (error_.empty()) return graph;
  graphs_.Drop(graph);
  return -1;
}

void HostDevice::Replay(Stream stream, DeviceGraph graph) {
  MURMURATE_CHECK(!graphs_.Records(stream), "a graph is not part of another");
  if (!Begin()) return;
  const std::shared_ptr<const HostGraphs::Graph> found = graphs_.Find(graph);
  for (const DeviceWork& work : *found) {
    if (work.ready)
      queues_.Enqueue(stream, work);
    else
      queues_.Enqueue(stream, [found, &work] { work.run(); });
  }
  RunAhead();
}

void HostDevice::DropGraph(DeviceGraph graph) {
  if (graph >= 0) graphs_.Drop(graph);
}

}  // namespace murmurate
