#include "server/stream/mqtt_password.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>

#include "tests/operate/temporary_folder.h"

namespace murmurate {
namespace {

using testing::HasSubstr;
using testing::Not;

class MqttPassword : public testing::Test {
 protected:
  std::string Write(const std::string& text, mode_t mode = 0600) {
    const std::string path = folder_.path() + "/password";
    std::ofstream(path, std::ios::binary) << text;
    chmod(path.c_str(), mode);
    return path;
  }
  std::string Refusal(const std::string& text, mode_t mode = 0600) {
    const Result<std::string> password = ReadPasswordFile(Write(text, mode));
    EXPECT_FALSE(password.ok());
    EXPECT_THAT(password.status().message(), Not(HasSubstr("hunter2")));
    return password.status().message();
  }
  TemporaryFolder folder_;
};

TEST_F(MqttPassword, IsTheFilesOnlyLine) {
  for (const char* text : {"hunter2", "hunter2\n", "hunter2\r\n"}) {
    const Result<std::string> password = ReadPasswordFile(Write(text));
    ASSERT_TRUE(password.ok()) << password.status();
    EXPECT_EQ(*password, "hunter2");
  }
  EXPECT_EQ(*ReadPasswordFile(Write(" two words \n", 0400)), " two words ");
  EXPECT_EQ(ReadPasswordFile(Write(std::string(65535, 'x') + "\r\n"))->size(), 65535u);
}

TEST_F(MqttPassword, IsRefusedFromAFileThatOthersCanOpen) {
  for (const mode_t mode : {0644, 0640, 0604, 0620, 0602, 0610}) {
    EXPECT_THAT(Refusal("hunter2", mode), HasSubstr("chmod 600 " + folder_.path())) << mode;
  }
}

TEST_F(MqttPassword, IsRefusedFromAFileWithMoreOrNothingInIt) {
  EXPECT_THAT(Refusal(""), HasSubstr("is empty"));
  EXPECT_THAT(Refusal("\n"), HasSubstr("is empty"));
  EXPECT_THAT(Refusal("hunter2\nuser = ann\n"), HasSubstr("more than one line"));
  EXPECT_THAT(Refusal(std::string("hunter2\0x", 9)), HasSubstr("zero byte"));
  EXPECT_THAT(Refusal(std::string(65536, 'x')), HasSubstr("65,535"));
  EXPECT_THAT(Refusal(std::string(1 << 20, 'x')), HasSubstr("65,535"));
}

TEST_F(MqttPassword, IsRefusedWhereThereIsNoFile) {
  EXPECT_THAT(ReadPasswordFile(folder_.path() + "/none").status().message(),
              HasSubstr("No such file"));
  EXPECT_THAT(ReadPasswordFile(folder_.path()).status().message(), HasSubstr("is no file"));
  EXPECT_THAT(ReadPasswordFile("/dev/zero").status().message(), HasSubstr("is no file"));
}

TEST_F(MqttPassword, IsTheWholeVariable) {
  setenv("MURMURATE_TEST_PASSWORD", "hunter2", 1);
  EXPECT_EQ(*ReadPasswordVariable("MURMURATE_TEST_PASSWORD"), "hunter2");
  setenv("MURMURATE_TEST_PASSWORD", "", 1);
  EXPECT_THAT(ReadPasswordVariable("MURMURATE_TEST_PASSWORD").status().message(),
              HasSubstr("is empty"));
  unsetenv("MURMURATE_TEST_PASSWORD");
  EXPECT_THAT(ReadPasswordVariable("MURMURATE_TEST_PASSWORD").status().message(),
              HasSubstr("set it to the broker's password"));
}

}  // namespace
}  // namespace murmurate
