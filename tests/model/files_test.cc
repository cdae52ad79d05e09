#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "shared/model/safetensors.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;

std::span<const std::byte> Bytes(const std::string& text) {
  return std::as_bytes(std::span<const char>(text));
}

class Files : public testing::Test {
 protected:
  Files() : folder_(fs::temp_directory_path() / ("murmurate-files-" + std::to_string(getpid()))) {
    fs::create_directory(folder_);
  }
  ~Files() override { fs::remove_all(folder_); }
  std::string Path(const std::string& name) const { return (folder_ / name).string(); }
  std::size_t Entries() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  fs::path folder_;
};

TEST_F(Files, WhatWasWrittenIsReadAndNoTemporaryIsLeft) {
  const std::string text("a\0b\n", 4);
  ASSERT_TRUE(WriteFileAtomically(Path("x"), Bytes(text)).ok());
  const Result<std::string> read = ReadFile(Path("x"), 4);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, text);
  EXPECT_EQ(Entries(), 1u);
}

TEST_F(Files, ASecondWriteReplacesTheFirstAndALeftOverTemporaryGivesWay) {
  ASSERT_TRUE(WriteFileAtomically(Path("x"), Bytes("old")).ok());
  ASSERT_TRUE(WriteFileAtomically(Path("x") + ".tmp-" + std::to_string(getpid()), {}).ok());
  ASSERT_TRUE(WriteFileAtomically(Path("x"), Bytes("new")).ok());
  EXPECT_EQ(*ReadFile(Path("x"), 100), "new");
  EXPECT_EQ(Entries(), 1u);
}

TEST_F(Files, FailureNamesThePathAndTheRemedyAndLeavesTheOldFile) {
  const Status no_folder = WriteFileAtomically(Path("none/x"), Bytes("x"));
  EXPECT_EQ(no_folder.code(), StatusCode::kResource);
  EXPECT_NE(no_folder.message().find(Path("none/x")), std::string::npos) << no_folder;
  EXPECT_NE(no_folder.message().find("No such file or directory; check the path"),
            std::string::npos)
      << no_folder;
  fs::create_directory(Path("folder"));
  EXPECT_FALSE(WriteFileAtomically(Path("folder"), Bytes("x")).ok());
  EXPECT_EQ(Entries(), 1u) << "no temporary is left";
}

TEST_F(Files, FullDiskLeavesTheOldFileAndNoTemporary) {
  ASSERT_TRUE(WriteFileAtomically(Path("x"), Bytes("old")).ok());
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small = {4096, before.rlim_max};
  std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &small);
  const Status status = WriteFileAtomically(Path("x"), Bytes(std::string(8192, 'x')));
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, SIG_DFL);
  EXPECT_EQ(status.code(), StatusCode::kResource);
  EXPECT_EQ(*ReadFile(Path("x"), 100), "old");
  EXPECT_EQ(Entries(), 1u);
}

TEST_F(Files, WhatIsNoReadableFileIsAStatus) {
  EXPECT_NE(ReadFile(Path("none"), 1).status().message().find(Path("none")), std::string::npos);
  EXPECT_NE(ReadFile(folder_.string(), 1).status().message().find("no regular file"),
            std::string::npos);
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  EXPECT_NE(ReadFile(Path("pipe"), 1).status().message().find("no regular file"),
            std::string::npos);
  ASSERT_TRUE(WriteFileAtomically(Path("x"), Bytes("12345")).ok());
  EXPECT_NE(ReadFile(Path("x"), 4).status().message().find("5 bytes where at most 4"),
            std::string::npos);
}

}  // namespace
}  // namespace murmurate
