#include "shared/transport/doorbell.h"

#include <gtest/gtest.h>

#include <thread>

#include "shared/core/random.h"
#include "shared/transport/socket.h"

namespace murmurate {
namespace {

TEST(Doorbell, ARingWakesWhoSleepsOnce) {
  const std::uint64_t number = RandomIdentity();
  const auto bell = *Doorbell::Open(number);
  const auto button = *DoorbellButton::Open(number);
  Poller poller(nullptr, bell.get());
  EXPECT_FALSE(poller.Wait({}, 0));
  std::thread ringer([&] { button->Ring(); });
  EXPECT_TRUE(poller.Wait({}, 60'000));
  ringer.join();
  EXPECT_FALSE(poller.Wait({}, 0));
}

TEST(Doorbell, RingsThatNobodyHearsWaitForNothingAndAreHeardAsAFew) {
  const std::uint64_t number = RandomIdentity();
  const auto bell = *Doorbell::Open(number);
  const auto button = *DoorbellButton::Open(number);
  for (int i = 0; i < 10'000; ++i) button->Ring();
  Poller poller(nullptr, bell.get());
  int looks = 0;
  while (looks < 100 && poller.Wait({}, 0)) ++looks;
  EXPECT_GE(looks, 1);
  EXPECT_LE(looks, 9);  // the kernel keeps 11, or 513 where systemd allows so many; 64 at a time
}

TEST(Doorbell, WhoIsDeadOrNeverWasHearsNothing) {
  const std::uint64_t number = RandomIdentity();
  EXPECT_EQ(DoorbellButton::Open(number).status().code(), StatusCode::kUnavailable);
  auto bell = *Doorbell::Open(number);
  EXPECT_FALSE(Doorbell::Open(number).ok());
  const auto button = *DoorbellButton::Open(number);
  bell.reset();
  button->Ring();
  EXPECT_TRUE(Doorbell::Open(number).ok());  // nothing was left behind
}

}  // namespace
}  // namespace murmurate
