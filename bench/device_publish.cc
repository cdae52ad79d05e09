#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <thread>

#include "bench/device_bench.h"
#include "bench/device_models.h"
#include "bench/device_rows.h"
#include "server/compute/device/device_memory.h"
#include "shared/core/check.h"
#include "shared/core/clock.h"
#include "shared/core/loop.h"
#include "shared/core/random.h"
#include "shared/weights/publishing.h"
#include "shared/weights/shared_memory_weights.h"

namespace murmurate {
namespace {

constexpr char kModel[] = "bench";

struct Copying : WeightSink {
  explicit Copying(std::size_t count) : numbers(count) {}
  void Begin() override {}
  void Put(std::size_t first, std::span<const float> part) override {
    std::ranges::copy(part, numbers.begin() + static_cast<std::ptrdiff_t>(first));
  }
  bool End(const VersionStamp& whole, const ActSettings&) override {
    stamp = whole;
    return true;
  }
  AlignedFloats numbers;
  VersionStamp stamp;
};

/// A player's thread: sleeps until there is a newer version and copies it.
class Reader {
 public:
  Reader(std::unique_ptr<SharedMemorySubscriber> subscriber, std::size_t count)
      : subscriber_(std::move(subscriber)), copying_(count), thread_([this] { Run(); }) {}
  ~Reader() {
    stop_ = true;
    thread_.join();
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  /// When it had copied that version; it does not sleep.
  std::int64_t AwaitNs(std::uint64_t version) const {
    while (version_.load(std::memory_order_acquire) != version) std::this_thread::yield();
    return at_ns_;
  }

 private:
  void Run() {
    while (!stop_) {
      const std::uint32_t seen = subscriber_->word()->load(std::memory_order_acquire);
      if (subscriber_->ReceiveNewer(copying_.stamp, &copying_)) {
        at_ns_ = MonotonicNs();
        version_.store(copying_.stamp.version, std::memory_order_release);
      } else {
        const std::array<FutexWait, 1> waits = {{{subscriber_->word(), seen}}};
        WaitForAny(waits, 10);
      }
    }
  }

  const std::unique_ptr<SharedMemorySubscriber> subscriber_;
  Copying copying_;
  std::atomic<bool> stop_ = false;
  std::atomic<std::uint64_t> version_ = 0;
  std::atomic<std::int64_t> at_ns_ = 0;
  std::thread thread_;
};

/// Parameters on a device, and the host memory that they are copied to.
struct OnDevice {
  OnDevice(Device* d, std::size_t count)
      : device(d),
        parameters(memory.Plan<float>(MemoryPurpose::kParameters, count)),
        host(reinterpret_cast<float*>(d->AllocatePinned(count * sizeof(float)))) {}
  ~OnDevice() { device->FreePinned(reinterpret_cast<std::byte*>(host)); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

  Device* const device;
  DeviceMemory memory;
  const DeviceArray<float> parameters;
  float* const host;
};

std::vector<double> TimeRounds(Publishing& publishing, const Reader& reader, OnDevice& from,
                               int rounds) {
  const DeviceIdle idle(from.device);
  std::vector<double> seconds;
  for (int round = 1; round <= rounds + 1; ++round) {
    auto snapshot = std::make_shared<Snapshot>();
    snapshot->version = static_cast<std::uint64_t>(round);
    snapshot->parameters = AlignedFloats(from.parameters.size());
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // the others fall asleep
    const std::int64_t start_ns = MonotonicNs();
    from.device->CopyOut(Stream::kMain, from.host, from.parameters.data(), from.parameters.bytes());
    idle.Wait();
    std::copy_n(from.host, from.parameters.size(), snapshot->parameters.begin());
    publishing.Post(kModel, std::move(snapshot));
    const std::int64_t at_ns = reader.AwaitNs(static_cast<std::uint64_t>(round));
    if (round > 1) seconds.push_back(static_cast<double>(at_ns - start_ns) * 1e-9);
  }
  return seconds;
}

Result<std::unique_ptr<Publishing>> OpenPublishing(SocketContext& context,
                                                   std::uint64_t incarnation) {
  const Result<std::string> folder = RuntimeFolder();
  if (!folder.ok()) return folder.status();
  Publishing::Options options;
  options.announce_address = "ipc://" + *folder + "/bench.announce";
  options.weights_address = "ipc://" + *folder + "/bench.weights";
  options.run = "bench-" + std::to_string(getpid());
  options.incarnation = incarnation;
  return Publishing::Open(context, std::move(options));
}

}  // namespace

Result<nlohmann::json> MeasurePublishing(Device* device, bool small, int rounds) {
  const ModelSpec spec = PublishedModel(small);
  const ParameterLayout layout(spec);
  OnDevice from(device, layout.total);
  MURMURATE_RETURN_IF_ERROR(from.memory.Allocate(device));
  if (from.host == nullptr) return ResourceError("no pinned memory is left");
  device->ClearMemory(Stream::kMain, from.parameters.data(), from.parameters.bytes());

  SocketContext context;
  const std::uint64_t incarnation = RandomIdentity();
  auto publishing = OpenPublishing(context, incarnation);
  if (!publishing.ok()) return publishing.status();
  const Result<std::string> segment = (*publishing)->AddModel(kModel, spec, true);
  if (!segment.ok()) return segment.status();
  auto subscriber = SharedMemorySubscriber::Open(*segment, spec, incarnation);
  if (!subscriber.ok()) return subscriber.status();
  DeviceSeconds seconds;
  {
    const Reader reader(*std::move(subscriber), layout.total);
    Loop loop(
        "mmr-publish", [&] { (*publishing)->PollOnce(1000); }, [&] { (*publishing)->Wake(); });
    seconds = SecondsOf(TimeRounds(**publishing, reader, from, rounds), 1);
  }
  RemoveRuntimeFolder();
  if (!device->error().empty()) return ResourceError(device->error());
  return nlohmann::json{{"row", "publish/6.7MB"},
                        {"by", "murmurate"},
                        {"bytes", PayloadBytes(layout)},
                        {"us", seconds.median * 1e6},
                        {"shortest_us", seconds.shortest * 1e6},
                        {"longest_us", seconds.longest * 1e6},
                        {"rounds", rounds}};
}

}  // namespace murmurate
