// Whenever the writer dies, the checkpoint before or the new one can be read: never neither.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "server/operate/checkpoint.h"
#include "shared/core/random.h"
#include "tests/operate/sample_checkpoint.h"
#include "tests/operate/temporary_folder.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;

/// A writer in a process of its own.
class Writer {
 public:
  Writer(const std::string& directory, std::uint64_t first, const char* mode,
         const std::string& failpoint) {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    pid_ = fork();
    if (pid_ == 0) {
      setenv("MURMURATE_FAILPOINT", failpoint.c_str(), 1);
      dup2(ends[1], STDOUT_FILENO);
      execl(MURMURATE_WRITE_CHECKPOINTS, "write_checkpoints", directory.c_str(),
            std::to_string(first).c_str(), mode, nullptr);
      _exit(127);
    }
    close(ends[1]);
    said_ = ends[0];
  }
  ~Writer() { close(said_); }

  /// Of the next checkpoint that is finished; 0 when the writer is dead.
  std::uint64_t NextVersion() {
    std::uint64_t version = 0;
    return read(said_, &version, sizeof version) == sizeof version ? version : 0;
  }
  void Kill() const { kill(pid_, SIGKILL); }
  /// The last version it finished, at least `last`; -1 when it was not killed.
  std::int64_t AwaitDeath(std::uint64_t last) {
    while (const std::uint64_t version = NextVersion()) last = version;
    int status = 0;
    waitpid(pid_, &status, 0);
    const bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    return killed ? static_cast<std::int64_t>(last) : -1;
  }

 private:
  pid_t pid_ = -1;
  int said_ = -1;
};

class KilledWriter : public ::testing::Test {
 protected:
  /// The next version that a writer may begin with.
  std::uint64_t Next() const { return version_ + 1; }

  /// After a death that left `finished` as the last version said: that one or the next loads.
  void Check(std::int64_t finished, std::uint64_t began, const std::string& where) {
    ASSERT_GE(finished, 0) << where << " was never reached, or the writer failed";
    const auto found =
        best_ ? ReadBestCheckpoint(folder_.path(), {}) : ReadNewestCheckpoint(folder_.path(), {});
    ASSERT_TRUE(found.ok()) << where << ": " << found.status();
    const std::uint64_t version = found->checkpoint.weights.version;
    const auto last = std::max(static_cast<std::uint64_t>(finished), began - 1);
    EXPECT_TRUE(version == last || version == last + 1) << where << ": " << version << ", " << last;
    version_ = version;
  }
  /// The next write leaves nothing of the dead behind.
  void Sweep(const std::string& mode) {
    ++version_;
    Checkpoint checkpoint = SampleCheckpoint(mode == "over" ? 1 : version_, 64);
    checkpoint.weights.version = version_;
    checkpoint.evaluated = {static_cast<double>(version_)};
    ASSERT_TRUE((best_ ? KeepBest(folder_.path(), checkpoint, {})
                       : WriteCheckpoint(folder_.path(), checkpoint))
                    .ok());
    for (const auto& entry : fs::directory_iterator(folder_.path() + "/checkpoints"))
      EXPECT_NE(entry.path().filename().string()[0], '.') << entry.path();
  }

  TemporaryFolder folder_{"/dev/shm"};  // a death is not a power cut: memory keeps what was written
  std::uint64_t version_ = 0;
  bool best_ = false;
};

TEST_F(KilledWriter, AtEveryFailpointLeavesThePreviousOrTheNew) {
  Sweep("on");
  for (const char* point :
       {"before-write",        "after-write",        "before-fsync",    "after-fsync",
        "before-write:2",      "after-write:3",      "before-fsync:3",  "after-fsync:4",
        "before-manifest",     "after-manifest",     "before-rename",   "after-rename",
        "before-folder-fsync", "after-folder-fsync", "before-rename:3", "after-rename:3",
        "before-delete",       "in-delete",          "after-delete",    "in-delete:2"}) {
    const std::uint64_t first = Next();
    Writer writer(folder_.path(), first, "on", point);
    Check(writer.AwaitDeath(0), first, point);
    if (HasFatalFailure()) return;
    Sweep("on");
  }
}

TEST_F(KilledWriter, WhileOneTakesAnothersPlaceLeavesOneOfTheTwo) {
  Sweep("over");
  for (const char* point : {"after-fsync", "after-manifest", "before-rename", "after-rename",
                            "after-folder-fsync", "after-rename:2"}) {
    const std::uint64_t first = Next();
    Writer writer(folder_.path(), first, "over", point);
    Check(writer.AwaitDeath(0), first, point);
    if (HasFatalFailure()) return;
    Sweep("over");
    EXPECT_EQ(CheckpointSteps(folder_.path()).size(), 1u);
  }
}

TEST_F(KilledWriter, OfABestOneLeavesTheBestBeforeOrTheNewAndTheNextOneLeavesItAlone) {
  best_ = true;
  Sweep("best");
  for (const char* point :
       {"after-write", "after-fsync:2", "before-manifest", "after-manifest", "before-rename",
        "after-rename", "after-folder-fsync", "before-delete", "in-delete", "after-delete"}) {
    const std::uint64_t first = Next();
    Writer writer(folder_.path(), first, "best", point);
    Check(writer.AwaitDeath(0), first, point);
    if (HasFatalFailure()) return;
    Sweep("best");
    const std::string best = fs::read_symlink(folder_.path() + "/checkpoints/best");
    EXPECT_EQ(ReadCheckpoint(folder_.path() + "/checkpoints/best")->weights.version, version_);
    for (const auto& entry : fs::directory_iterator(folder_.path() + "/checkpoints"))
      EXPECT_TRUE(entry.path().filename() == "best" || entry.path().filename() == best) << entry;
  }
}

TEST_F(KilledWriter, AtRandomMomentsLeavesThePreviousOrTheNew) {
  Random random(7);
  Sweep("on");
  for (int kills = 0; kills < 30; ++kills) {
    const std::uint64_t first = Next();
    Writer writer(folder_.path(), first, "on", "");
    const std::uint64_t begun = writer.NextVersion();
    ASSERT_EQ(begun, first);
    usleep(static_cast<useconds_t>(random.Uniform() * 3000));  // the moment is the test's subject
    writer.Kill();
    Check(writer.AwaitDeath(begun), first, "kill " + std::to_string(kills));
    if (HasFatalFailure()) return;
    Sweep("on");
  }
}

}  // namespace
}  // namespace murmurate
