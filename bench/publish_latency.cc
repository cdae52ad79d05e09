// From handing a version over (Publishing::Post) to "this actor may act on it" (copied out of
// shared memory and packed for the kernels), with one learner process and four actor processes that
// sleep on the segment's futex. The limit: a bare futex wake across the same processes and a memcpy
// of as many bytes in and out of shared memory, in turns with ours.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "server/measure/limits.h"
#include "shared/core/clock.h"
#include "shared/core/loop.h"
#include "shared/core/random.h"
#include "shared/inference/policy.h"
#include "shared/model/parameter_layout.h"
#include "shared/model/policy_and_value.h"
#include "shared/weights/publishing.h"
#include "shared/weights/shared_memory_weights.h"

namespace murmurate {
namespace {

constexpr int kActors = 4;
constexpr char kModel[] = "bench";

/// What learner and actors share beside the weights: stamps (CLOCK_MONOTONIC is the machine's), and
/// the word and block of the bare wake.
struct Board {
  std::atomic<bool> stop;
  alignas(64) FutexWord bare;
  std::array<char, 128> segment;
  std::uint64_t incarnation;
  int large;
  struct alignas(64) Row {
    std::atomic<bool> ready;
    std::atomic<std::uint64_t> version;
    std::atomic<std::uint32_t> bare;
    std::atomic<std::int64_t> at_ns;
  };
  std::array<Row, kActors> rows;
  alignas(64) std::byte block[8u << 20];
};

/// 4-64-64-2: 19 KB published. 96-1024-1536-8: 6.7 MB.
PolicyAndValue SpecOf(bool large) {
  PolicyAndValue spec;
  spec.spaces = large ? Spaces{Box({96}), Discrete(8)} : Spaces{Box({4}), Discrete(2)};
  spec.trunk = {{large ? 1024 : 64, Activation::kTanh}, {large ? 1536 : 64, Activation::kTanh}};
  return spec;
}

Board* MapBoard(int fd) {
  void* at = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return at == MAP_FAILED ? nullptr : static_cast<Board*>(at);
}

void PauseUs(long us) {
  const timespec pause{0, us * 1000};
  nanosleep(&pause, nullptr);
}

int Fail(const std::string& sentence) {
  std::fprintf(stderr, "publish_latency: %s\n", sentence.c_str());
  return 70;
}

/// A policy that is packed as it comes.
struct Packing : WeightSink {
  explicit Packing(const ModelSpec& spec) : policy(spec) {}
  void Begin() override {}
  void Put(std::size_t first, std::span<const float> numbers) override {
    policy.PackPart(first, numbers);
  }
  bool End(const VersionStamp& whole, const ActSettings&) override {
    stamp = whole;
    return true;
  }
  Policy policy;
  VersionStamp stamp;
};

/// One actor: sleeps, takes what is newer, packs it, says when it may act on it.
int RunActor(int fd, int index) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  Board* const board = MapBoard(fd);
  if (board == nullptr) return Fail("cannot map the board");
  const PolicyAndValue spec = SpecOf(board->large != 0);
  auto subscriber = SharedMemorySubscriber::Open(board->segment.data(), spec, board->incarnation);
  if (!subscriber.ok()) return Fail(subscriber.status().message());
  Packing packing(spec);
  std::vector<std::byte> copy(PayloadBytes(ParameterLayout(spec)));
  Board::Row& row = board->rows[index];
  const FutexWord* const word = (*subscriber)->word();
  std::uint32_t seen_bare = board->bare.load();
  row.ready = true;
  while (!board->stop) {
    const std::uint32_t seen = word->load(std::memory_order_acquire);
    if ((*subscriber)->ReceiveNewer(packing.stamp, &packing)) {
      row.at_ns = MonotonicNs();
      row.version = packing.stamp.version;
    } else if (const std::uint32_t bare = board->bare.load(); bare != seen_bare) {
      std::memcpy(copy.data(), board->block, copy.size());
      row.at_ns = MonotonicNs();
      row.bare = seen_bare = bare;
    } else {
      const std::array<FutexWait, 2> waits = {{{word, seen}, {&board->bare, seen_bare}}};
      WaitForAny(waits, 1000);
    }
  }
  return 0;
}

struct Latency {
  std::vector<double> first_us, slowest_us;

  void Add(const Board& board, std::int64_t start_ns) {
    std::int64_t first = INT64_MAX, slowest = 0;
    for (const Board::Row& row : board.rows) {
      first = std::min(first, row.at_ns.load());
      slowest = std::max(slowest, row.at_ns.load());
    }
    first_us.push_back(static_cast<double>(first - start_ns) / 1e3);
    slowest_us.push_back(static_cast<double>(slowest - start_ns) / 1e3);
  }
};

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

/// Waits, asleep most of the time, until `done` holds for every actor, and lets them sleep again.
template <typename Done>
void AwaitAll(const Board& board, const Done& done) {
  while (!std::all_of(board.rows.begin(), board.rows.end(), done)) PauseUs(100);
  PauseUs(2000);
}

void Measure(Publishing& publishing, Board& board, const ModelSpec& spec, int rounds, Latency* ours,
             Latency* limit) {
  const ParameterLayout layout(spec);
  std::vector<std::byte> payload(PayloadBytes(layout));
  Random random(1);
  for (int round = 1; round <= rounds; ++round) {
    auto snapshot = std::make_shared<Snapshot>();
    snapshot->version = static_cast<std::uint64_t>(round);
    snapshot->parameters = AlignedFloats(layout.total);
    for (float& value : snapshot->parameters) value = random.Uniform() - 0.5f;
    WritePayload(layout, *snapshot, payload);
    PauseUs(2000);

    std::int64_t start_ns = MonotonicNs();
    publishing.Post(kModel, std::move(snapshot));
    AwaitAll(board, [&](const Board::Row& row) {
      return row.version.load() == static_cast<std::uint64_t>(round);
    });
    ours->Add(board, start_ns);

    start_ns = MonotonicNs();
    std::memcpy(board.block, payload.data(), payload.size());
    const std::uint32_t bare = board.bare.fetch_add(1) + 1;
    WakeAll(&board.bare);
    AwaitAll(board, [&](const Board::Row& row) { return row.bare.load() == bare; });
    limit->Add(board, start_ns);
  }
}

std::vector<pid_t> StartActors(int fd) {
  std::vector<pid_t> actors;
  for (int i = 0; i < kActors; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      execl("/proc/self/exe", "publish_latency", "--actor", std::to_string(fd).c_str(),
            std::to_string(i).c_str(), nullptr);
      _exit(70);
    }
    actors.push_back(child);
  }
  return actors;
}

void PrintRows(const std::string& size, const Latency& ours, const Latency& limit,
               double first_target_us, double slowest_target_us) {
  BenchRow row;
  row.unit = "us";
  row.target_is_ratio = false;
  row.smaller_is_better = true;
  row.name = "publish " + size + ", first of four actors p50";
  row.ours = Median(ours.first_us);
  row.limit = Median(limit.first_us);
  row.target = first_target_us;
  Print(row);
  row.name = "publish " + size + ", slowest of four actors p50";
  row.ours = Median(ours.slowest_us);
  row.limit = Median(limit.slowest_us);
  row.target = slowest_target_us;
  Print(row);
}

int RunSize(bool large, int rounds, double first_target_us, double slowest_target_us) {
  const int fd = memfd_create("publish-latency", 0);  // inherited by the actors
  if (fd < 0 || ftruncate(fd, sizeof(Board)) != 0) return Fail("no shared memory");
  Board* const board = MapBoard(fd);
  if (board == nullptr) return Fail("cannot map the board");
  const PolicyAndValue spec = SpecOf(large);
  Result<std::string> folder = RuntimeFolder();
  if (!folder.ok()) return Fail(folder.status().message());
  Publishing::Options options;
  options.announce_address = "ipc://" + *folder + "/bench.announce";
  options.weights_address = "ipc://" + *folder + "/bench.weights";
  options.run = "bench-" + std::to_string(getpid());
  options.incarnation = RandomIdentity();
  SocketContext context;
  auto publishing = Publishing::Open(context, options);
  if (!publishing.ok()) return Fail(publishing.status().message());
  Result<std::string> segment = (*publishing)->AddModel(kModel, spec, true);
  if (!segment.ok()) return Fail(segment.status().message());
  std::snprintf(board->segment.data(), board->segment.size(), "%s", segment->c_str());
  board->incarnation = options.incarnation;
  board->large = large;
  const std::vector<pid_t> actors = StartActors(fd);
  Latency ours, limit;
  {
    Loop loop(
        "mmr-publish", [&] { (*publishing)->PollOnce(1000); }, [&] { (*publishing)->Wake(); });
    AwaitAll(*board, [](const Board::Row& row) { return row.ready.load(); });
    Measure(**publishing, *board, spec, rounds, &ours, &limit);
  }
  board->stop = true;
  board->bare.fetch_add(1);
  WakeAll(&board->bare);
  for (const pid_t actor : actors) waitpid(actor, nullptr, 0);
  munmap(board, sizeof(Board));
  close(fd);
  const double kilobytes = static_cast<double>(PayloadBytes(ParameterLayout(spec))) / 1e3;
  std::array<char, 32> size;
  std::snprintf(size.data(), size.size(), large ? "%.1f MB" : "%.0f KB",
                large ? kilobytes / 1e3 : kilobytes);
  PrintRows(size.data(), ours, limit, first_target_us, slowest_target_us);
  return 0;
}

}  // namespace
}  // namespace murmurate

int main(int argc, char** argv) {
  if (argc == 4 && std::strcmp(argv[1], "--actor") == 0) {
    return murmurate::RunActor(std::atoi(argv[2]), std::atoi(argv[3]));
  }
  const int small = murmurate::RunSize(false, 300, 100, 300);
  const int large = murmurate::RunSize(true, 60, 2500, 6000);
  murmurate::RemoveRuntimeFolder();
  return small != 0 ? small : large;
}
