#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <thread>

#include "shared/core/clock.h"
#include "shared/transport/shared_segment.h"

namespace murmurate {
namespace {

constexpr int kLongMs = 5000;

TEST(WaitForAny, ReturnsAtOnceWhenAWordHasChangedAlready) {
  FutexWord a{1}, b{7};
  const FutexWait waits[] = {{&a, 1}, {&b, 6}};
  const std::int64_t start = MonotonicNs();
  WaitForAny(waits, kLongMs);
  WaitForAny({&waits[1], 1}, kLongMs);
  EXPECT_LT(MonotonicNs() - start, kLongMs * kNanosecondsPerMillisecond / 2);
}

TEST(WaitForAny, ReturnsAfterItsTime) {
  FutexWord a{1}, b{2};
  const FutexWait waits[] = {{&a, 1}, {&b, 2}};
  for (const std::size_t count : {1u, 2u}) {
    const std::int64_t start = MonotonicNs();
    WaitForAny({waits, count}, 20);
    EXPECT_GE(MonotonicNs() - start, 19 * kNanosecondsPerMillisecond);
    EXPECT_LT(MonotonicNs() - start, kLongMs * kNanosecondsPerMillisecond);
  }
}

TEST(WaitForAny, IsWokenByEachWord) {
  for (int chosen = 0; chosen < 3; ++chosen) {
    FutexWord words[3] = {0, 0, 0};
    const FutexWait waits[] = {{&words[0], 0}, {&words[1], 0}, {&words[2], 0}};
    std::thread waker([&] {
      words[chosen].store(1);
      WakeAll(&words[chosen]);
    });
    const std::int64_t start = MonotonicNs();
    WaitForAny(waits, kLongMs);
    EXPECT_LT(MonotonicNs() - start, kLongMs * kNanosecondsPerMillisecond / 2) << chosen;
    waker.join();
  }
}

/// Waits until `pid` sleeps in the kernel.
bool Sleeps(pid_t pid) {
  for (const std::int64_t start = MonotonicNs();
       MonotonicNs() - start < kLongMs * kNanosecondsPerMillisecond;) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string text;
    std::getline(file, text);
    const std::size_t end = text.rfind(')');
    if (end != text.npos && text.substr(end, 3) == ") S") return true;
  }
  return false;
}

/// The child maps the segment read-only, says that it waits, and must be woken by the parent's
/// write.
void ExpectWokenAcrossProcesses(int words) {
  const std::string name =
      "/murmurate-" + std::to_string(geteuid()) + "-futex" + std::to_string(getpid());
  Result<SharedSegment> writer = SharedSegment::Create(name, 4096);
  ASSERT_TRUE(writer.ok()) << writer.status();
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    Result<SharedSegment> reader = SharedSegment::OpenReadOnly(name);
    if (!reader.ok()) _exit(1);
    const auto* word = reinterpret_cast<const FutexWord*>(reader->data());
    FutexWord own{0};
    const FutexWait waits[] = {{word, 0}, {&own, 0}};
    if (write(ready[1], "r", 1) != 1) _exit(2);
    const std::int64_t start = MonotonicNs();
    while (word->load() == 0 && MonotonicNs() - start < 2 * kLongMs * kNanosecondsPerMillisecond) {
      WaitForAny({waits, static_cast<std::size_t>(words)}, kLongMs);
      if (word->load() == 0) _exit(3);  // woken by nobody: time, or an error of the call
    }
    _exit(word->load() == 1 ? 0 : 4);
  }
  char letter;
  ASSERT_EQ(read(ready[0], &letter, 1), 1);
  EXPECT_TRUE(Sleeps(child));
  auto* word = reinterpret_cast<FutexWord*>(writer->data());
  word->store(1);
  WakeAll(word);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(WaitForAny, ReadOnlyMappingIsWokenByAnotherProcess) { ExpectWokenAcrossProcesses(1); }
TEST(WaitForAny, ReadOnlyMappingBesideAPrivateWordIsWoken) { ExpectWokenAcrossProcesses(2); }

}  // namespace
}  // namespace murmurate
