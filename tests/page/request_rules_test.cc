#include "server/page/request_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace murmurate {
namespace {

using ::testing::HasSubstr;

TEST(RequestRules, AdmitLoopbackAtAnyPortAndTheHostItListensOn) {
  const RequestRules rules("10.0.0.7", {"Trainer.Example"}, "");
  for (const char* host : {"localhost", "LOCALHOST:7480", "127.0.0.1", "127.0.0.1:80", "[::1]",
                           "[::1]:7480", "10.0.0.7:7480", "trainer.example:443"})
    EXPECT_TRUE(rules.IsOwnHost(host)) << host;
}

TEST(RequestRules, RefuseEveryOtherHost) {
  const RequestRules rules("127.0.0.1", {}, "");
  for (const char* host : {"", "evil.example", "evil.example:7480", "localhost.evil.example",
                           "127.0.0.1.evil.example", "[::2]", "[", "127.0.0.1@evil.example"})
    EXPECT_FALSE(rules.IsOwnHost(host)) << host;
}

TEST(RequestRules, ControlNeedsTheSettingTheTokenAndThisPage) {
  const std::string host = "127.0.0.1:7480", own = "http://127.0.0.1:7480";
  EXPECT_THAT(RequestRules("127.0.0.1", {}, "").WhyNoControl(host, own, ""),
              HasSubstr("page.control"));
  const RequestRules rules("127.0.0.1", {}, "secret");
  EXPECT_EQ(rules.WhyNoControl(host, own, "secret"), "");
  EXPECT_EQ(rules.WhyNoControl(host, "", "secret"), "") << "not sent by a browser";
  EXPECT_THAT(rules.WhyNoControl(host, own, "secres"), HasSubstr("token"));
  EXPECT_THAT(rules.WhyNoControl(host, own, ""), HasSubstr("token"));
  for (const char* origin : {"http://evil.example", "null", "http://127.0.0.1:8000"})
    EXPECT_THAT(rules.WhyNoControl(host, origin, "secret"), HasSubstr("not from this page"));
}

TEST(RequestRules, TokensAreLongAndDiffer) {
  const std::string one = RandomToken(), other = RandomToken();
  EXPECT_EQ(one.size(), 32u);
  EXPECT_EQ(one.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_NE(one, other);
}

}  // namespace
}  // namespace murmurate
