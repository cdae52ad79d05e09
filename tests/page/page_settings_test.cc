#include "server/page/page_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/tcp.h>

#include "server/page/listener.h"
#include "tests/page/raw_request.h"

namespace murmurate {
namespace {

using ::testing::HasSubstr;

TEST(PageAddress, HasAHostAndAPort) {
  for (const char* text : {"127.0.0.1:7480", "[::1]:80", "localhost:65535"}) {
    const auto address = ParsePageAddress(text);
    ASSERT_TRUE(address.ok()) << text;
    EXPECT_EQ(address->ToString(), text);
  }
  const auto any = ParsePageAddress("127.0.0.1:*");
  ASSERT_TRUE(any.ok());
  EXPECT_EQ(any->port, 0);
}

TEST(PageAddress, SaysWhatItExpected) {
  for (const char* text : {"", "on", ":80", "127.0.0.1", "127.0.0.1:", "127.0.0.1:0",
                           "127.0.0.1:65536", "127.0.0.1:80x", "::1:80", "http://a:80", "a b:80"}) {
    const auto address = ParsePageAddress(text);
    ASSERT_FALSE(address.ok()) << text;
    EXPECT_THAT(address.status().message(), HasSubstr("listen = \"127.0.0.1:7480\""));
  }
}

TEST(Listener, TakesTheNextFreePort) {
  const auto first = Listener::Open({"127.0.0.1", 0});
  ASSERT_TRUE(first.ok()) << first.status();
  const auto second = Listener::Open(first->address());
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_GT(second->address().port, first->address().port);
  EXPECT_LT(second->address().port, first->address().port + Listener::kPorts);
  EXPECT_TRUE(RawConnection(second->address().port).connected());
}

TEST(Listener, WhatItAcceptsSendsAtOnce) {
  const auto listener = Listener::Open({"127.0.0.1", 0});
  ASSERT_TRUE(listener.ok()) << listener.status();
  const RawConnection connection(listener->address().port);
  const int fd = listener->Accept();
  ASSERT_GE(fd, 0);
  int on = 0;
  socklen_t size = sizeof on;
  EXPECT_EQ(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, &size), 0);
  EXPECT_NE(on, 0);
  close(fd);
}

TEST(Listener, SaysWhyThereIsNone) {
  const auto none = Listener::Open({"192.0.2.1", 7480});  // of documentation (RFC 5737)
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.status().message(), HasSubstr("192.0.2.1:7480"));
  const auto unknown = Listener::Open({"no-such-host.invalid", 7480});
  ASSERT_FALSE(unknown.ok());
  EXPECT_THAT(unknown.status().message(), HasSubstr("no address of this host"));
}

}  // namespace
}  // namespace murmurate
