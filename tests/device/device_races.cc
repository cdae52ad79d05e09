// Runs recorded launches (launch_recording.h) again, compiled with ThreadSanitizer: each thread of a
// kernel is a thread here.
//
//   device_races planted             a kernel without its barrier must be reported
//   device_races replay FOLDER       no launch has a race, each order of threads gives the same bits,
//                                    and each kernel was recorded
//   device_races mutations FOLDER    each SyncThreads, left out, is a race in some launch
//
// Prints what it found. Exit code 0: as it must be; 1: not.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "shared/core/check.h"
#include "tests/device/fiber_runner.h"
#include "tests/device/host_kernels.h"
#include "tests/device/launch_recording.h"
#include "tests/device/test_kernels.h"
#include "tests/device/thread_runner.h"

namespace {
std::atomic<int> races = 0;
}  // namespace

// ThreadSanitizer calls these.
extern "C" void __tsan_on_report(void*) { ++races; }
extern "C" const char* __tsan_default_options() {
  return "exitcode=0:suppress_equal_stacks=0:suppress_equal_addresses=0:report_thread_leaks=0";
}

namespace murmurate {
namespace {

std::set<BarrierPlace> seen_barriers;
BarrierPlace left_out;

bool NoteBarrier(const BarrierPlace& place) {
  seen_barriers.insert(place);
  return true;
}
bool IsNotLeftOut(const BarrierPlace& place) { return place != left_out; }

/// Memory at the recorded addresses while it lives.
class RecordedMemory {
 public:
  explicit RecordedMemory(const LaunchRecording& recording) : recording_(recording) {
    for (const LaunchRecording::Block& block : recording.blocks) {
      void* const pages = Pages(block);
      MURMURATE_CHECK(mmap(pages, Bytes(block), PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == pages,
                      "recorded addresses are free here");
    }
  }
  ~RecordedMemory() {
    for (const LaunchRecording::Block& block : recording_.blocks)
      munmap(Pages(block), Bytes(block));
  }
  RecordedMemory(const RecordedMemory&) = delete;
  RecordedMemory& operator=(const RecordedMemory&) = delete;

  void Fill() const {
    for (const LaunchRecording::Block& block : recording_.blocks)
      std::memcpy(Memory(block), block.before.data(), block.before.size());
  }
  std::vector<std::byte> Copy() const {
    std::vector<std::byte> copy;
    for (const LaunchRecording::Block& block : recording_.blocks) {
      const auto* const bytes = static_cast<const std::byte*>(Memory(block));
      copy.insert(copy.end(), bytes, bytes + block.before.size());
    }
    return copy;
  }

 private:
  static constexpr std::uintptr_t kPage = 4096;
  static void* Memory(const LaunchRecording::Block& block) {
    return reinterpret_cast<void*>(block.address);
  }
  static void* Pages(const LaunchRecording::Block& block) {
    return reinterpret_cast<void*>(block.address / kPage * kPage);
  }
  static std::size_t Bytes(const LaunchRecording::Block& block) {
    return block.address % kPage + block.before.size();
  }

  const LaunchRecording& recording_;
};

/// The memory after the launch.
std::vector<std::byte> After(const LaunchRecording& recording, KernelRunner* runner) {
  const RecordedMemory memory(recording);
  for (int time = 0; time < 2; ++time) {  // ThreadRunner sees more the second time
    memory.Fill();
    runner->Run(HostKernelOf(recording.kernel), recording.grid, recording.call.data());
  }
  return memory.Copy();
}

std::vector<LaunchRecording> ReadAll(const std::string& folder) {
  std::vector<LaunchRecording> all;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    all.push_back(LaunchRecording::Read(entry.path()));
  return all;
}

int Planted() {
  std::vector<float> x(64), y(64);
  const BackwardsCall call = {x.data(), y.data()};
  ThreadRunner runner;
  for (int time = 0; time < 2; ++time) runner.Run(kBackwards, {.threads = 64}, &call);
  const int right = races;
  for (int time = 0; time < 2; ++time) runner.Run(kBackwardsUnsynced, {.threads = 64}, &call);
  std::printf("races with the barrier: %d, without: %d\n", right, races - right);
  return right == 0 && races > 0 ? 0 : 1;
}

/// Which kernels no test launches on a small grid.
int CountMissing(const std::vector<LaunchRecording>& all) {
  int missing = 0;
  for (std::size_t kernel = 0; kernel < kKernels; ++kernel) {
    if (std::any_of(all.begin(), all.end(), [&](const LaunchRecording& recording) {
          return recording.kernel == static_cast<KernelId>(kernel);
        }))
      continue;
    std::printf("%s: no launch was recorded\n", HostKernelOf(static_cast<KernelId>(kernel)).name);
    ++missing;
  }
  return missing;
}

int Replay(const std::string& folder) {
  const std::vector<LaunchRecording> all = ReadAll(folder);
  int wrong = CountMissing(all);
  FiberRunner forward(0), reverse(1), random(2);
  ThreadRunner threads;
  for (const LaunchRecording& recording : all) {
    const int before = races;
    const std::vector<std::byte> after = After(recording, &forward);
    const bool same = After(recording, &reverse) == after && After(recording, &random) == after &&
                      After(recording, &threads) == after;
    if (same && races == before) continue;
    ++wrong;
    std::printf("%s on %u x %u blocks of %u: %d races%s\n", HostKernelOf(recording.kernel).name,
                recording.grid.blocks, recording.grid.rows, recording.grid.threads, races - before,
                same ? "" : ", other bits in another order of threads");
  }
  std::printf("%zu launches, %d wrong\n", all.size(), wrong);
  return wrong == 0 && !all.empty() ? 0 : 1;
}

/// Which recordings come to which barrier.
std::map<BarrierPlace, std::vector<const LaunchRecording*>> FindBarriers(
    const std::vector<LaunchRecording>& all) {
  std::map<BarrierPlace, std::vector<const LaunchRecording*>> barriers;
  FiberRunner runner(0);
  wait_at_barrier = &NoteBarrier;
  for (const LaunchRecording& recording : all) {
    seen_barriers.clear();
    After(recording, &runner);
    for (const BarrierPlace& place : seen_barriers) barriers[place].push_back(&recording);
  }
  return barriers;
}

/// In a process of its own: the kernel that shows what is left out, by a race or by not coming to an
/// end; null: none does.
const char* Notices(const std::vector<const LaunchRecording*>& recordings) {
  constexpr unsigned kMostSeconds = 30;
  for (const LaunchRecording* recording : recordings) {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
      alarm(kMostSeconds);
      ThreadRunner runner;
      After(*recording, &runner);
      _exit(races > 0 ? 1 : 0);
    }
    int status = 0;
    MURMURATE_CHECK(waitpid(child, &status, 0) == child, "a child can be waited for");
    if (status != 0) return HostKernelOf(recording->kernel).name;
  }
  return nullptr;
}

int Mutations(const std::string& folder) {
  const std::vector<LaunchRecording> all = ReadAll(folder);
  const auto barriers = FindBarriers(all);
  wait_at_barrier = &IsNotLeftOut;
  int missed = 0;
  for (const auto& [place, recordings] : barriers) {
    left_out = place;
    const char* const kernel = Notices(recordings);
    const std::string file = std::filesystem::path(place.file).filename();
    std::printf("%s:%d left out: %s\n", file.c_str(), place.line,
                kernel == nullptr ? "MISSED" : kernel);
    missed += kernel == nullptr ? 1 : 0;
  }
  std::printf("%zu barriers, %d missed\n", barriers.size(), missed);
  return missed == 0 && !barriers.empty() ? 0 : 1;
}

}  // namespace
}  // namespace murmurate

int main(int count, char** words) {
  const std::string what = count > 1 ? words[1] : "";
  if (what == "planted") return murmurate::Planted();
  if (what == "replay" && count == 3) return murmurate::Replay(words[2]);
  if (what == "mutations" && count == 3) return murmurate::Mutations(words[2]);
  std::fprintf(stderr, "device_races planted | replay FOLDER | mutations FOLDER\n");
  return 64;
}
