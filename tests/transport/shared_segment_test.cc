#include "shared/transport/shared_segment.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <string>

namespace murmurate {
namespace {

using testing::HasSubstr;

std::string Name(const std::string& what) {
  return "/murmurate-" + std::to_string(geteuid()) + "-test" + std::to_string(getpid()) + "-" +
         what;
}

bool Exists(const std::string& name) { return access(("/dev/shm" + name).c_str(), F_OK) == 0; }

TEST(SharedSegment, ReaderSeesWhatTheWriterWrites) {
  Result<SharedSegment> writer = SharedSegment::Create(Name("seen"), 10'000);
  ASSERT_TRUE(writer.ok()) << writer.status();
  EXPECT_EQ(writer->size(), 10'000u);
  for (std::size_t i = 0; i < writer->size(); ++i) ASSERT_EQ(writer->data()[i], std::byte{0});
  Result<SharedSegment> reader = SharedSegment::OpenReadOnly(Name("seen"));
  ASSERT_TRUE(reader.ok()) << reader.status();
  ASSERT_EQ(reader->size(), 10'000u);
  writer->data()[9'999] = std::byte{42};
  EXPECT_EQ(reader->data()[9'999], std::byte{42});
}

TEST(SharedSegment, IsPrivateAndUnlinkedByItsWriterOnly) {
  {
    Result<SharedSegment> writer = SharedSegment::Create(Name("private"), 4096);
    ASSERT_TRUE(writer.ok()) << writer.status();
    struct stat file {};
    ASSERT_EQ(stat(("/dev/shm" + Name("private")).c_str(), &file), 0);
    EXPECT_EQ(file.st_mode & 0777, 0600u);
    { Result<SharedSegment> reader = SharedSegment::OpenReadOnly(Name("private")); }
    EXPECT_TRUE(Exists(Name("private")));
    SharedSegment moved = *std::move(writer);
    EXPECT_TRUE(Exists(Name("private")));
  }
  EXPECT_FALSE(Exists(Name("private")));
}

TEST(SharedSegment, NameIsTakenOnlyOnce) {
  Result<SharedSegment> first = SharedSegment::Create(Name("once"), 4096);
  ASSERT_TRUE(first.ok()) << first.status();
  Result<SharedSegment> second = SharedSegment::Create(Name("once"), 4096);
  ASSERT_FALSE(second.ok());
  EXPECT_TRUE(Exists(Name("once"))) << "the failed second one removed the first";
}

TEST(SharedSegment, BadNamesAreRefused) {
  EXPECT_FALSE(SharedSegment::Create("no-slash", 4096).ok());
  EXPECT_FALSE(SharedSegment::Create("/two/slashes", 4096).ok());
  const Result<SharedSegment> longest = SharedSegment::Create("/" + std::string(300, 'x'), 4096);
  ASSERT_FALSE(longest.ok());
  EXPECT_THAT(longest.status().message(), HasSubstr("255"));
  EXPECT_FALSE(SharedSegment::OpenReadOnly(Name("absent")).ok());
}

TEST(SharedSegment, TooLittleRoomIsASentenceAndLeavesNothing) {
  struct statvfs volume {};
  ASSERT_EQ(statvfs("/dev/shm", &volume), 0);
  const std::size_t bytes = std::size_t{volume.f_blocks} * volume.f_frsize + (1u << 20);
  const Result<SharedSegment> segment = SharedSegment::Create(Name("huge"), bytes);
  ASSERT_FALSE(segment.ok());
  EXPECT_EQ(segment.status().code(), StatusCode::kResource);
  EXPECT_THAT(segment.status().message(), HasSubstr(std::to_string(bytes)));
  EXPECT_THAT(segment.status().message(), HasSubstr("free in /dev/shm"));
  EXPECT_THAT(segment.status().message(), HasSubstr("docker --shm-size"));
  EXPECT_FALSE(Exists(Name("huge")));
}

TEST(SharedSegmentDeathTest, WritingThroughAReaderDies) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  Result<SharedSegment> writer = SharedSegment::Create(Name("guarded"), 4096);
  ASSERT_TRUE(writer.ok()) << writer.status();
  Result<SharedSegment> reader = SharedSegment::OpenReadOnly(Name("guarded"));
  ASSERT_TRUE(reader.ok()) << reader.status();
  EXPECT_DEATH(*reinterpret_cast<volatile char*>(reader->data()) = 1, "");
}

TEST(ProcessIdentity, KnowsTheLivingFromTheDead) {
  const ProcessIdentity mine = ThisProcess();
  EXPECT_EQ(mine.pid, static_cast<std::uint64_t>(getpid()));
  EXPECT_TRUE(IsAlive(mine));
  ProcessIdentity earlier = mine;  // the same number, given to another process before
  earlier.start_ticks -= 1;
  EXPECT_FALSE(IsAlive(earlier));
  ProcessIdentity other_boot = mine;
  other_boot.boot_hash += 1;
  EXPECT_FALSE(IsAlive(other_boot));
  EXPECT_FALSE(IsAlive(ProcessIdentity{}));
}

TEST(ProcessIdentity, HostIdentityIsTheSameInEveryProcess) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  if (fork() == 0) {
    const std::uint64_t theirs = HostIdentity();
    _exit(write(ends[1], &theirs, sizeof(theirs)) == sizeof(theirs) ? 0 : 1);
  }
  std::uint64_t theirs = 0;
  ASSERT_EQ(read(ends[0], &theirs, sizeof(theirs)), static_cast<ssize_t>(sizeof(theirs)));
  EXPECT_EQ(theirs, HostIdentity());
  wait(nullptr);
}

/// A segment made and signed by a child that then ends without a word.
void AbandonSegment(const std::string& name, std::size_t owner_offset, bool sign) {
  const pid_t child = fork();
  if (child == 0) {
    Result<SharedSegment> segment = SharedSegment::Create(name, 8192);
    if (!segment.ok()) _exit(1);
    const ProcessIdentity me = ThisProcess();
    if (sign) std::memcpy(segment->data() + owner_offset, &me, sizeof(me));
    _exit(0);  // no destructor: as if killed
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
}

TEST(SweepDeadSegments, RemovesTheDeadAndSparesTheLiving) {
  constexpr std::size_t kOffset = 128;
  AbandonSegment(Name("dead"), kOffset, true);
  AbandonSegment(Name("dead-unsigned"), kOffset, false);
  Result<SharedSegment> living = SharedSegment::Create(Name("living"), 8192);
  Result<SharedSegment> unfinished = SharedSegment::Create(Name("unfinished"), 8192);
  ASSERT_TRUE(living.ok() && unfinished.ok());
  const ProcessIdentity me = ThisProcess();
  std::memcpy(living->data() + kOffset, &me, sizeof(me));
  EXPECT_GE(SweepDeadSegments(kOffset), 2);
  EXPECT_FALSE(Exists(Name("dead")));
  EXPECT_FALSE(Exists(Name("dead-unsigned")));
  EXPECT_TRUE(Exists(Name("living")));
  EXPECT_TRUE(Exists(Name("unfinished")));
}

}  // namespace
}  // namespace murmurate
