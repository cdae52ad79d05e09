// Shards and workers in one process, over real sockets, on a model whose gradient is known:
// f(x) = 1/2 ||x - target||^2, so g = x - target.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "server/parameters/parameter_server.h"
#include "server/parameters/remote_store.h"
#include "shared/core/loop.h"
#include "shared/core/random.h"
#include "shared/model/parameter_layout.h"

namespace murmurate {

inline ModelSpec SmallSpec(bool normalized = false) {
  auto spec = ModelSpec::Parse(
      std::string("murmurate-model 1\nobservation float32 4\naction discrete 2\ndense 16 tanh\n"
                  "separate_value 1\nnormalize_observation ") +
      (normalized ? "1" : "0") + "\n");
  EXPECT_TRUE(spec.ok()) << spec.status().message();
  return *spec;
}

/// A shard that lives until it is killed, and can be started again at its address.
class LiveShard {
 public:
  LiveShard(SocketContext& context, ParameterServerOptions options)
      : context_(context), options_(std::move(options)) {}

  void Start(const std::function<void(ParameterServer&)>& before = {}) {
    auto server = ParameterServer::Open(context_, options_);
    ASSERT_TRUE(server.ok()) << server.status().message();
    server_ = std::move(*server);
    if (before) before(*server_);
    loop_ = std::make_unique<Loop>(
        "mmr-params", [this] { server_->PollOnce(20); }, [this] { server_->Wake(); });
  }
  /// What it held is lost.
  void Kill() {
    loop_.reset();
    server_.reset();
  }
  /// Stops for good; what it held may be looked at.
  ParameterServer& Stop() {
    loop_.reset();
    return *server_;
  }

 private:
  SocketContext& context_;
  const ParameterServerOptions options_;
  std::unique_ptr<ParameterServer> server_;
  std::unique_ptr<Loop> loop_;
};

/// How blocks go.
enum class Transport { kMessages, kSegment };

class LiveCluster {
 public:
  LiveCluster(Transport transport, const ShardSettings& settings, int shards, bool start = true) {
    static int number = 0;
    folder_ = std::filesystem::temp_directory_path() /
              ("mmr-cluster-" + std::to_string(getpid()) + '-' + std::to_string(number++));
    std::filesystem::create_directories(folder_);
    for (int i = 0; i < shards; ++i) {
      addresses_.push_back("ipc://" + (folder_ / std::to_string(i)).string());
      ParameterServerOptions options;
      options.settings = [settings](const std::string&) { return settings; };
      options.shard = i;
      options.shards = shards;
      options.address = addresses_.back();
      options.save_every_ns = 1;
      options.on_save = [this, i](const std::string&, const Shard& shard) {
        auto state = std::make_shared<SavedState>();
        shard.Save(state.get());
        saved_[static_cast<std::size_t>(i)] = std::move(state);
      };
      saved_.emplace_back();
      shards_.push_back(std::make_unique<LiveShard>(context_, options));
      if (start) shards_.back()->Start();
    }
    remote.shard = settings;
    remote.shards = addresses_;
    remote.share_from_bytes = transport == Transport::kSegment ? 1 : SIZE_MAX;
    remote.retain_bytes = 64 << 10;
  }
  ~LiveCluster() {
    shards_.clear();
    std::filesystem::remove_all(folder_);
  }

  LiveShard& shard(int i) { return *shards_[static_cast<std::size_t>(i)]; }
  std::shared_ptr<const SavedState> saved(int i) { return saved_[static_cast<std::size_t>(i)]; }
  std::unique_ptr<RemoteStore> NewWorker(std::uint32_t number) {
    RemoteSettings settings = remote;
    settings.worker = number;
    return std::make_unique<RemoteStore>(
        settings, "default", SmallSpec(normalized),
        RemoteCallbacks{{}, [this](const Status& status) { failure = status.message(); }});
  }

  RemoteSettings remote;  ///< of the workers that are made from now on
  bool normalized = false;
  std::string failure;

 private:
  SocketContext context_;
  std::filesystem::path folder_;
  std::vector<std::string> addresses_;
  std::vector<std::shared_ptr<const SavedState>> saved_;
  std::vector<std::unique_ptr<LiveShard>> shards_;
};

/// x with g = x - target, all of it from a seed.
struct Bowl {
  explicit Bowl(std::uint64_t seed, bool normalized = false)
      : layout(SmallSpec(normalized)),
        parameters(layout.total),
        target(layout.trained_count()),
        gradient(layout.trained_count()) {
    Random random(seed);
    for (float& value : trained()) value = static_cast<float>(random.Uniform() - 0.5);
    for (float& value : target) value = static_cast<float>(random.Uniform() - 0.5);
  }
  std::span<float> trained() { return {parameters.data(), layout.trained_count()}; }
  std::span<const float> Gradient() {
    for (std::size_t i = 0; i < target.size(); ++i) gradient[i] = parameters[i] - target[i];
    return gradient;
  }
  double Distance() const {
    double sum = 0.0;
    for (std::size_t i = 0; i < target.size(); ++i) {
      const double d = parameters[i] - target[i];
      sum += d * d;
    }
    return sum;
  }
  /// `steps` steps in batches of `batch`; false when a batch could not begin.
  bool Descend(ParameterStore& store, double rate, int steps, int batch = 1) {
    for (int done = 0; done < steps; done += batch) {
      if (!store.BeginBatch(parameters)) return false;
      for (int i = 0; i < batch; ++i) (void)store.Step(rate, Gradient(), trained());
      store.EndBatch(parameters);
    }
    return true;
  }

  ParameterLayout layout;
  AlignedFloats parameters, target, gradient;
};

}  // namespace murmurate
