#include "server/parameters/collective.h"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>
#include <vector>

#include "server/collective/plug_in.h"
#include "server/parameters/rank_watch.h"
#include "shared/core/check.h"
#include "shared/core/clock.h"
#include "shared/core/no_signals.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kFullSpeedNs = 50'000;
constexpr std::int64_t kShortestNs = 20'000, kLongestNs = 1'000'000;
constexpr std::size_t kTextFloats = 4001;

class PlugIn : public Collective {
 public:
  explicit PlugIn(const MurmurateCollective& functions) : functions_(functions) {}

  int rank() const override { return functions_.rank; }
  int size() const override { return functions_.size; }
  Status BeginSum(std::span<float> values) override {
    return Checked(functions_.begin_sum(values.data(), values.size()));
  }
  Status BeginBroadcast(std::span<float> values, int root) override {
    return Checked(functions_.begin_broadcast(values.data(), values.size(), root));
  }
  Result<bool> Done() override {
    const int done = functions_.done();
    if (done < 0) return Checked(done);
    return done != 0;
  }
  Status Post(std::uint64_t number) override { return Checked(functions_.post(number)); }
  Result<std::optional<PostedNumber>> NextPost() override {
    PostedNumber posted;
    const int came = functions_.next_post(&posted.rank, &posted.number);
    if (came < 0) return Checked(came);
    return came == 0 ? std::nullopt : std::optional(posted);
  }
  std::string host(int rank) const override { return functions_.host(rank); }
  Status Close() override { return Checked(functions_.close()); }

 private:
  Status Checked(int code) {
    if (code >= 0) return {};
    return ResourceError("the ranks cannot go on together (" + std::string(functions_.error()) +
                         "); start the job again, with `murmurate resume`");
  }

  const MurmurateCollective functions_;
};

Status NotThere(const std::string& name, const std::string& why) {
  return ResourceError("parameters.collective = \"" + name + "\": " + why +
                       "; install openmpi-bin and libopenmpi-dev and build murmurate again");
}

Result<void*> Load(const std::string& name) {
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  const std::string file = "murmurate_collective_" + name + ".so";
  const fs::path installed = (folder / MURMURATE_PLUG_INS).lexically_normal();
  for (const fs::path& slot : {folder / file, installed / file}) {
    if (!fs::exists(slot, error)) continue;
    // Global: MPI loads parts of itself, which look for the rest among the global names.
    if (void* handle = dlopen(slot.c_str(), RTLD_NOW | RTLD_GLOBAL)) return handle;
    return NotThere(name, std::string("it cannot be loaded (") + dlerror() + ")");
  }
  return NotThere(name, file + " is not in " + folder.string() + " nor in " + installed.string());
}

}  // namespace

Result<bool> Await(Collective& collective, const std::atomic<bool>* interrupted,
                   std::int64_t patience_ns, RankWatch* watch) {
  const std::int64_t begin_ns = MonotonicNs();
  std::int64_t end_ns = INT64_MAX;
  while (true) {
    auto done = collective.Done();
    if (!done.ok() || *done) return done;
    const std::int64_t waited_ns = MonotonicNs() - begin_ns;
    if (interrupted != nullptr && *interrupted) end_ns = std::min(end_ns, waited_ns + patience_ns);
    if (waited_ns >= end_ns) return false;
    if (watch != nullptr) MURMURATE_RETURN_IF_ERROR(watch->Poll());
    if (waited_ns < kFullSpeedNs)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(
          std::chrono::nanoseconds(std::clamp(waited_ns / 8, kShortestNs, kLongestNs)));
  }
}

Status Sum(Collective& collective, std::span<float> values, RankWatch* watch) {
  MURMURATE_RETURN_IF_ERROR(collective.BeginSum(values));
  return Await(collective, nullptr, 0, watch).status();
}

Status Broadcast(Collective& collective, std::span<float> values, int root) {
  MURMURATE_RETURN_IF_ERROR(collective.BeginBroadcast(values, root));
  return Await(collective).status();
}

Result<std::string> BroadcastText(Collective& collective, const std::string& text) {
  std::vector<float> values(kTextFloats);
  const std::size_t length = std::min(text.size(), kTextFloats - 1);
  values[0] = static_cast<float>(length);
  for (std::size_t i = 0; i < length; ++i)
    values[i + 1] = static_cast<float>(static_cast<unsigned char>(text[i]));
  MURMURATE_RETURN_IF_ERROR(Broadcast(collective, values));
  std::string received;
  for (std::size_t i = 0; i < static_cast<std::size_t>(values[0]); ++i)
    received += static_cast<char>(static_cast<unsigned char>(values[i + 1]));
  return received;
}

Result<std::unique_ptr<Collective>> OpenCollective(const std::string& name) {
  const NoSignals quiet;
  auto handle = Load(name);
  if (!handle.ok()) return handle.status();
  const auto open =
      reinterpret_cast<MurmurateOpenCollectiveFunction>(dlsym(*handle, "MurmurateOpenCollective"));
  if (open == nullptr) return NotThere(name, "its plug-in is another program's");
  char error[1024] = {};
  const MurmurateCollective* functions = open(error, sizeof error);
  if (functions == nullptr) return ResourceError(error);
  if (functions->version != kMurmurateCollectiveVersion)
    return NotThere(name, "its plug-in is of another version");
  return std::unique_ptr<Collective>(std::make_unique<PlugIn>(*functions));
}

}  // namespace murmurate
