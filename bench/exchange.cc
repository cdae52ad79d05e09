// Exchanges with a shard of a parameter server: push a gradient, get the new parameters. asgd with
// plain SGD over ipc; the shard is a forked process, which keeps one core, the worker the other.
//
//   ours    RemoteStore::Step: norm and copy of the gradient, push, merge, answer, copy to the
//           worker's parameters; in messages, and in shared memory (shard_segment.h)
//   limits  messages: raw libzmq, DEALER -> ROUTER -> DEALER between two processes, three frames of
//           the same sizes each way and nothing copied, + one pass of the optimizer over as much
//           memory; of 1 KB the round trip alone
//           shared memory: two copies of the block + the same pass
//   CPU     of the shard's thread for an exchange (schedstat), against a pass of the optimizer and
//           a copy of the center
//
// The row "two cores' copies": two processes that only copy, the worker a block in, the other out
// and one in, the worker out, and wait by spinning; + the same pass.
// No shard writes checkpoints here, so after 2 x retain_bytes (128 exchanges of 1 MB) the worker
// keeps no pushes any more (shard_link.h). The row "that is kept" lets it keep every one, and is
// the shortest round: the first ones wait for the kernel's pages.
//
// Rounds alternate; each number is the median of them (the machine is shared).
//   build/release/bench/bench_exchange [rounds [0, 1 or 2: of one size only]]
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zmq.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "server/measure/limits.h"
#include "server/parameters/parameter_server.h"
#include "server/parameters/remote_store.h"
#include "shared/core/aligned_floats.h"
#include "shared/core/check.h"
#include "shared/core/clock.h"
#include "shared/model/parameter_layout.h"

namespace murmurate {
namespace {

struct Size {
  const char* name;
  int observation, width;  ///< of two networks: observation x width numbers each, and a few
  int exchanges;           ///< a round
};
constexpr std::size_t kKeepsAll = std::size_t{256} << 20;  ///< of 1 MB: 433 exchanges in a part
constexpr Size kSizes[] = {
    {"1 KB", 4, 16, 1000}, {"1 MB", 480, 256, 60}, {"100 MB", 4000, 3125, 4}};

ModelSpec SpecOf(const Size& size) {
  auto spec = ModelSpec::Parse("murmurate-model 1\nobservation float32 " +
                               std::to_string(size.observation) + "\naction discrete 2\ndense " +
                               std::to_string(size.width) +
                               " tanh\nseparate_value 1\nnormalize_observation 0\n");
  MURMURATE_CHECK(spec.ok(), spec.status().message().c_str());
  return *std::move(spec);
}

ShardSettings SettingsOfShard() {
  ShardSettings settings;
  settings.rule = {.name = RuleName::kAsgd, .form = PushForm::kGradient, .window = 1};
  settings.optimizer.name = OptimizerSettings::Name::kSgd;
  return settings;
}

std::string Address(const char* name) {
  return "ipc:///tmp/mmr-bench-" + std::to_string(getpid()) + '-' + name;
}

/// This thread, and all that it starts, on one core of those we may use.
void StayOn(int slot) {
  cpu_set_t allowed, one;
  sched_getaffinity(0, sizeof allowed, &allowed);
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &allowed) || slot-- > 0) continue;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    sched_setaffinity(0, sizeof one, &one);
    return;
  }
}

/// A process that does `work` until it is killed; it has one thread when it begins.
class Process {
 public:
  explicit Process(const std::function<void()>& work) : pid_(fork()) {
    MURMURATE_CHECK(pid_ >= 0, "no process");
    if (pid_ > 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    StayOn(0);
    work();
    _exit(0);
  }
  ~Process() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// Seconds that its first thread has run.
  double CpuSeconds() const {
    const std::string pid = std::to_string(pid_);
    std::ifstream file("/proc/" + pid + "/task/" + pid + "/schedstat");
    double nanoseconds = 0;
    file >> nanoseconds;
    return nanoseconds * 1e-9;
  }

 private:
  pid_t pid_;
};

void RunShard(const std::string& address) {
  SocketContext context;
  ParameterServerOptions options;
  options.settings = [](const std::string&) { return SettingsOfShard(); };
  options.address = address;
  auto server = ParameterServer::Open(context, options);
  MURMURATE_CHECK(server.ok(), server.status().message().c_str());
  while (true) (*server)->PollOnce(1000);
}

void SetRaw(void* socket, int option, int value) {
  MURMURATE_CHECK(zmq_setsockopt(socket, option, &value, sizeof value) == 0, "zmq_setsockopt");
}

void SendRaw(void* socket, std::span<const float> block) {
  const char small[96] = {};
  zmq_send(socket, small, 32, ZMQ_SNDMORE);
  zmq_send(socket, small, 80, ZMQ_SNDMORE);
  zmq_msg_t message;
  zmq_msg_init_data(
      &message, const_cast<float*>(block.data()), block.size_bytes(), [](void*, void*) {}, nullptr);
  MURMURATE_CHECK(zmq_msg_send(&message, socket, 0) >= 0, "zmq_msg_send");
}

void ReceiveRaw(void* socket, int frames, zmq_msg_t* peer) {
  for (int frame = 0; frame < frames; ++frame) {
    zmq_msg_t message;
    zmq_msg_init(&message);
    MURMURATE_CHECK(zmq_msg_recv(&message, socket, 0) >= 0, "zmq_msg_recv");
    if (frame == 0 && peer != nullptr) zmq_msg_move(peer, &message);
    zmq_msg_close(&message);
  }
}

void RunRaw(const std::string& address, std::size_t floats) {
  const AlignedFloats block(floats);
  void* const router = zmq_socket(zmq_ctx_new(), ZMQ_ROUTER);
  MURMURATE_CHECK(zmq_bind(router, address.c_str()) == 0, "zmq_bind");
  while (true) {
    zmq_msg_t peer;
    zmq_msg_init(&peer);
    ReceiveRaw(router, 4, &peer);
    zmq_msg_send(&peer, router, ZMQ_SNDMORE);
    SendRaw(router, block);
  }
}

/// Seconds of one call, over a round of them.
double Round(int calls, const std::function<void()>& call) {
  const std::int64_t begin = MonotonicNs();
  for (int i = 0; i < calls; ++i) call();
  return static_cast<double>(MonotonicNs() - begin) * 1e-9 / calls;
}

class Raw {
 public:
  explicit Raw(std::size_t floats)
      : block_(floats),
        address_(Address("raw")),
        child_([this, floats] { RunRaw(address_, floats); }) {
    context_ = zmq_ctx_new();
    dealer_ = zmq_socket(context_, ZMQ_DEALER);
    SetRaw(dealer_, ZMQ_LINGER, 0);
    SetRaw(dealer_, ZMQ_RECONNECT_IVL, 2);
    MURMURATE_CHECK(zmq_connect(dealer_, address_.c_str()) == 0, "zmq_connect");
    Exchange();
  }
  ~Raw() {
    zmq_close(dealer_);
    zmq_ctx_term(context_);
    std::remove(address_.substr(6).c_str());
  }
  void Exchange() {
    SendRaw(dealer_, block_);
    ReceiveRaw(dealer_, 3, nullptr);
  }

 private:
  const AlignedFloats block_;
  const std::string address_;
  Process child_;  // before there are threads
  void* context_ = nullptr;
  void* dealer_ = nullptr;
};

class Cores {
 public:
  explicit Cores(std::size_t floats)
      : bytes_(floats * sizeof(float)),
        from_(floats),
        to_(floats),
        shared_(static_cast<std::byte*>(mmap(nullptr, kHeader + 2 * bytes_, PROT_READ | PROT_WRITE,
                                             MAP_SHARED | MAP_ANONYMOUS, -1, 0))),
        child_([this] { Answer(); }) {
    Exchange();
  }
  ~Cores() { munmap(shared_, kHeader + 2 * bytes_); }
  void Exchange() {
    std::memcpy(shared_ + kHeader, from_.data(), bytes_);
    const std::uint64_t turn = ++turn_;
    Word(0).store(turn, std::memory_order_release);
    Await(1, turn);
    std::memcpy(to_.data(), shared_ + kHeader + bytes_, bytes_);
  }

 private:
  static constexpr std::size_t kHeader = 4096;
  std::atomic<std::uint64_t>& Word(int which) {
    return *reinterpret_cast<std::atomic<std::uint64_t>*>(shared_ + which * 128);
  }
  void Await(int which, std::uint64_t turn) {
    while (Word(which).load(std::memory_order_acquire) != turn) sched_yield();
  }
  void Answer() {
    for (std::uint64_t turn = 1;; ++turn) {
      Await(0, turn);
      std::memcpy(to_.data(), shared_ + kHeader, bytes_);
      std::memcpy(shared_ + kHeader + bytes_, from_.data(), bytes_);
      Word(1).store(turn, std::memory_order_release);
    }
  }

  const std::size_t bytes_;
  AlignedFloats from_, to_;
  std::byte* const shared_;
  std::uint64_t turn_ = 0;
  Process child_;
};

class Ours {
 public:
  Ours(const Size& size, bool shares, std::size_t retain_bytes = RemoteSettings().retain_bytes)
      : layout_(SpecOf(size)),
        address_(Address(std::to_string(++count_).c_str())),
        child_([this] { RunShard(address_); }),
        parameters_(layout_.total),
        gradient_(layout_.trained_count()) {
    for (std::size_t i = 0; i < gradient_.size(); ++i)
      gradient_[i] = 1e-3f * static_cast<float>(i % 13);
    RemoteSettings settings;
    settings.shard = SettingsOfShard();
    settings.shards = {address_};
    settings.retain_bytes = retain_bytes;
    settings.share_from_bytes = shares ? 1 : SIZE_MAX;
    store_ = std::make_unique<RemoteStore>(
        settings, "default", SpecOf(size),
        RemoteCallbacks{
            {}, [](const Status& status) { MURMURATE_CHECK(false, status.message().c_str()); }});
    MURMURATE_CHECK(store_->BeginBatch(parameters_), "it begins");
    const int kept =
        static_cast<int>((std::size_t{128} << 20) / (gradient_.size() * sizeof(float)));
    for (int i = 0; i < std::min(200, kept) + 3; ++i) Exchange();  // until it keeps none
  }
  ~Ours() {
    store_.reset();
    std::remove(address_.substr(6).c_str());
  }
  void Exchange() { (void)store_->Step(0.01, gradient_, {parameters_.data(), gradient_.size()}); }
  double ShardCpuSeconds() const { return child_.CpuSeconds(); }
  std::size_t floats() const { return gradient_.size(); }

 private:
  const ParameterLayout layout_;
  const std::string address_;
  Process child_;
  AlignedFloats parameters_, gradient_;
  std::unique_ptr<RemoteStore> store_;
  static inline int count_ = 0;
};

class Passes {
 public:
  explicit Passes(std::size_t floats)
      : optimizer_(MakeOptimizer(SettingsOfShard().optimizer, floats)),
        from_(floats),
        to_(floats),
        parameters_(floats) {}
  void Copy() {
    std::memcpy(to_.data(), from_.data(), from_.size() * sizeof(float));
    asm volatile("" : : "r"(to_.data()) : "memory");
  }
  void Step() { optimizer_->Step(0.01f, 1.0f, from_, parameters_); }

 private:
  std::unique_ptr<Optimizer> optimizer_;
  AlignedFloats from_, to_, parameters_;
};

class Rounds {
 public:
  void Add(double seconds) { seconds_.push_back(seconds); }
  double Median() const {
    std::vector<double> sorted = seconds_;
    std::sort(sorted.begin(), sorted.end());
    return sorted[sorted.size() / 2];
  }
  double Least() const { return *std::min_element(seconds_.begin(), seconds_.end()); }

 private:
  std::vector<double> seconds_;
};

struct Times {
  Rounds wall, cpu;
  void RunCalls(int calls, Ours* ours) {
    const double cpu_before = ours->ShardCpuSeconds();
    wall.Add(Round(calls, [&] { ours->Exchange(); }));
    cpu.Add((ours->ShardCpuSeconds() - cpu_before) / calls);
  }
};

void PrintRows(const std::string& way, const Size& size, const Times& ours, double limit,
               double bound_cpu, double target) {
  const bool small = size.exchanges >= 1000;
  BenchRow row{.name = std::string("exchange of ") + size.name + ' ' + way,
               .unit = "us",
               .ours = ours.wall.Median() * 1e6,
               .limit = limit * 1e6,
               .target = small ? 1.3 : 1.0 / target};
  row.smaller_is_better = true;
  Print(row);
  Print({.name = std::string("  CPU of the shard's thread, ") + size.name + ' ' + way,
         .unit = "us",
         .ours = ours.cpu.Median() * 1e6,
         .limit = bound_cpu * 1e6,
         .target = small ? 0.0 : 1.05,
         .smaller_is_better = true});
}

void Measure(const Size& size, int rounds) {
  const std::size_t floats = ParameterLayout(SpecOf(size)).trained_count();
  Passes passes(floats);
  Times messages, segment, kept;
  Rounds cores_s, raw_s, copy_s, step_s;
  for (int part = 0; part < rounds; part += 5) {  // new processes now and then
    Raw raw(floats);
    Ours by_message(size, false), by_segment(size, true), by_kept(size, true, kKeepsAll);
    for (int round = part; round < std::min(rounds, part + 5); ++round) {
      raw_s.Add(Round(size.exchanges, [&] { raw.Exchange(); }));
      messages.RunCalls(size.exchanges, &by_message);
      segment.RunCalls(size.exchanges, &by_segment);
      kept.RunCalls(size.exchanges, &by_kept);
      copy_s.Add(Round(size.exchanges, [&] { passes.Copy(); }));
      step_s.Add(Round(size.exchanges, [&] { passes.Step(); }));
    }
    Cores cores(floats);  // it spins: nothing else runs meanwhile
    for (int round = part; round < std::min(rounds, part + 5); ++round)
      cores_s.Add(Round(size.exchanges, [&] { cores.Exchange(); }));
  }
  const bool small = size.exchanges >= 1000;
  const double copy = copy_s.Median(), step = step_s.Median(), message = raw_s.Median();
  PrintRows("in messages", size, messages, message + (small ? 0.0 : step), copy + step, 0.6);
  const double bound = small ? message : 2.0 * copy + step;
  PrintRows("in shared memory", size, segment, bound, copy + step, 0.6);
  if (floats * sizeof(float) < kKeepsAll && !small)
    Print({.name = std::string("  exchange of ") + size.name + " in shared memory that is kept",
           .unit = "us",
           .ours = kept.wall.Least() * 1e6,
           .limit = bound * 1e6,
           .smaller_is_better = true});
  Print({.name = std::string("  exchange of ") + size.name + " in shared memory, two cores' copies",
         .unit = "us",
         .ours = segment.wall.Median() * 1e6,
         .limit = (cores_s.Median() + step) * 1e6,
         .smaller_is_better = true});
}

}  // namespace
}  // namespace murmurate

int main(int argc, char** argv) {
  murmurate::StayOn(1);
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 15;
  for (const murmurate::Size& size : murmurate::kSizes)
    if (argc < 3 || std::atoi(argv[2]) == &size - murmurate::kSizes)
      murmurate::Measure(size, rounds);
}
