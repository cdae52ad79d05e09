#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "shared/transport/socket.h"

namespace murmurate {
namespace {

using testing::HasSubstr;

TEST(Address, SistersOfTcpAreTheNextTwoPorts) {
  const Result<AddressFamily> family = SisterAddresses("tcp://127.0.0.1:7420");
  ASSERT_TRUE(family.ok()) << family.status();
  EXPECT_EQ(family->main, "tcp://127.0.0.1:7420");
  EXPECT_EQ(family->announce, "tcp://127.0.0.1:7421");
  EXPECT_EQ(family->weights, "tcp://127.0.0.1:7422");
}

TEST(Address, LocalhostIsItsNumber) {
  const Result<AddressFamily> family = SisterAddresses("tcp://localhost:7420");
  ASSERT_TRUE(family.ok()) << family.status();
  EXPECT_EQ(family->main, "tcp://127.0.0.1:7420");
  EXPECT_EQ(family->weights, "tcp://127.0.0.1:7422");
  EXPECT_EQ(SisterAddresses("tcp://localhost:*")->announce, "tcp://127.0.0.1:*");
}

TEST(Address, SistersOfIpcAreTwoMorePaths) {
  const Result<AddressFamily> family = SisterAddresses("ipc:///run/m/main");
  ASSERT_TRUE(family.ok()) << family.status();
  EXPECT_EQ(family->announce, "ipc:///run/m/main.announce");
  EXPECT_EQ(family->weights, "ipc:///run/m/main.weights");
}

TEST(Address, SistersKeepTheBracketsOfIpv6) {
  const Result<AddressFamily> family = SisterAddresses("tcp://[::1]:100");
  ASSERT_TRUE(family.ok()) << family.status();
  EXPECT_EQ(family->weights, "tcp://[::1]:102");
}

TEST(Address, WhatIsNoAddressIsRefusedWithAnExample) {
  for (const std::string& bad :
       {std::string(""), std::string("7420"), std::string("http://a:1"), std::string("tcp://a"),
        std::string("tcp://:1"), std::string("tcp://a:0"), std::string("tcp://a:65536"),
        std::string("tcp://a:12x"), std::string("tcp://a:-1"), std::string("tcp://::1:5"),
        std::string("tcp://a:65534"), std::string("ipc://"), std::string("ipc://relative"),
        "ipc:///" + std::string(98, 'x'), std::string("ipc:///a\0b", 9)}) {
    const Result<AddressFamily> family = SisterAddresses(bad);
    ASSERT_FALSE(family.ok()) << bad;
    EXPECT_EQ(family.status().code(), StatusCode::kInvalidArgument) << bad;
    EXPECT_THAT(family.status().message(), HasSubstr("tcp://127.0.0.1:7420")) << bad;
  }
  EXPECT_TRUE(SisterAddresses("ipc:///" + std::string(97, 'x')).ok());
}

TEST(Address, OnlyIpcAndLoopbackAreLocal) {
  for (const char* local : {"ipc:///tmp/x", "tcp://127.0.0.1:1", "tcp://127.9.9.9:*",
                            "tcp://[::1]:5", "tcp://localhost:7420"}) {
    EXPECT_TRUE(IsLocalAddress(local)) << local;
  }
  for (const char* remote : {"tcp://0.0.0.0:1", "tcp://*:1", "tcp://[::]:1", "tcp://192.168.1.1:1",
                             "tcp://[2001:db8::1]:1", "nonsense"}) {
    EXPECT_FALSE(IsLocalAddress(remote)) << remote;
  }
}

class RuntimeFolderTest : public testing::Test {
 protected:
  RuntimeFolderTest() : base_("/tmp/mmr-base-" + std::to_string(getpid())) {
    mkdir(base_.c_str(), 0700);
    setenv("XDG_RUNTIME_DIR", base_.c_str(), 1);
  }
  ~RuntimeFolderTest() override {
    RemoveRuntimeFolder();
    std::filesystem::remove_all(base_);
  }
  std::string base_;
};

TEST_F(RuntimeFolderTest, IsPrivateAndRemovedWithWhatIsInIt) {
  const Result<std::string> folder = RuntimeFolder();
  ASSERT_TRUE(folder.ok()) << folder.status();
  EXPECT_EQ(*folder, base_ + "/murmurate-" + std::to_string(geteuid()) + "/" +
                         std::to_string(getpid()) + "/");
  struct stat file {};
  ASSERT_EQ(stat(folder->c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0700u);
  EXPECT_EQ(*RuntimeFolder(), *folder);
  fclose(fopen((*folder + "address.json").c_str(), "w"));
  RemoveRuntimeFolder();
  EXPECT_TRUE(std::filesystem::is_empty(base_));
}

TEST_F(RuntimeFolderTest, FoldersOfDeadProcessesAreSwept) {
  const pid_t child = fork();
  if (child == 0) _exit(RuntimeFolder().ok() ? 0 : 1);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  const std::string parent = base_ + "/murmurate-" + std::to_string(geteuid()) + "/";
  ASSERT_TRUE(std::filesystem::exists(parent + std::to_string(child)));
  ASSERT_TRUE(RuntimeFolder().ok());
  EXPECT_FALSE(std::filesystem::exists(parent + std::to_string(child)));
}

TEST_F(RuntimeFolderTest, ProcessesComeAndGoWithoutDisturbingEachOther) {
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    const pid_t child = fork();
    if (child != 0) {
      children.push_back(child);
      continue;
    }
    for (int round = 0; round < 500; ++round) {
      if (!RuntimeFolder().ok()) _exit(1);
      RemoveRuntimeFolder();
    }
    _exit(0);
  }
  for (const pid_t child : children) {
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
}

TEST_F(RuntimeFolderTest, FolderThatOthersMayEnterIsRefused) {
  const std::string parent = base_ + "/murmurate-" + std::to_string(geteuid());
  ASSERT_EQ(mkdir(parent.c_str(), 0777), 0);
  ASSERT_EQ(chmod(parent.c_str(), 0777), 0);
  const Result<std::string> folder = RuntimeFolder();
  ASSERT_FALSE(folder.ok());
  EXPECT_EQ(folder.status().code(), StatusCode::kResource);
  EXPECT_THAT(folder.status().message(), HasSubstr("0700"));
}

}  // namespace
}  // namespace murmurate
