#include "shared/transport/wakeup.h"

#include <gtest/gtest.h>

#include <thread>

#include "shared/core/random.h"
#include "shared/transport/socket.h"

namespace murmurate {
namespace {

TEST(WakeupReceiver, ARingWakesWhoSleepsOnce) {
  const std::uint64_t number = RandomIdentity();
  const auto wakeup = *WakeupReceiver::Open(number);
  const auto button = *WakeupSender::Open(number);
  Poller poller(nullptr, wakeup.get());
  EXPECT_FALSE(poller.Wait({}, 0));
  std::thread ringer([&] { button->Notify(); });
  EXPECT_TRUE(poller.Wait({}, 60'000));
  ringer.join();
  EXPECT_FALSE(poller.Wait({}, 0));
}

TEST(WakeupReceiver, RingsThatNobodyHearsWaitForNothingAndAreHeardAsAFew) {
  const std::uint64_t number = RandomIdentity();
  const auto wakeup = *WakeupReceiver::Open(number);
  const auto button = *WakeupSender::Open(number);
  for (int i = 0; i < 10'000; ++i) button->Notify();
  Poller poller(nullptr, wakeup.get());
  int looks = 0;
  while (looks < 100 && poller.Wait({}, 0)) ++looks;
  EXPECT_GE(looks, 1);
  EXPECT_LE(looks, 9);  // the kernel keeps 11, or 513 where systemd allows so many; 64 at a time
}

TEST(WakeupReceiver, WhoIsDeadOrNeverWasHearsNothing) {
  const std::uint64_t number = RandomIdentity();
  EXPECT_EQ(WakeupSender::Open(number).status().code(), StatusCode::kUnavailable);
  auto wakeup = *WakeupReceiver::Open(number);
  EXPECT_FALSE(WakeupReceiver::Open(number).ok());
  const auto button = *WakeupSender::Open(number);
  wakeup.reset();
  button->Notify();
  EXPECT_TRUE(WakeupReceiver::Open(number).ok());  // nothing was left behind
}

TEST(WakeSignal, WakesAPollerFromAnotherThread) {
  WakeSignal signal;
  Poller poller(&signal);
  std::thread waker([&] { signal.Set(); });
  EXPECT_TRUE(poller.Wait({}, 5000));
  waker.join();
  EXPECT_FALSE(poller.Wait({}, 0)) << "the signal was not cleared";
  signal.Set();
  signal.Set();
  EXPECT_TRUE(poller.Wait({}, 0));
  EXPECT_FALSE(poller.Wait({}, 0));
}

}  // namespace
}  // namespace murmurate
