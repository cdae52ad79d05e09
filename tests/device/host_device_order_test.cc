// In which orders a host device does what streams and events leave open.
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "server/compute/device/calls/layers.h"
#include "tests/device/device_numbers.h"

namespace murmurate {
namespace {

constexpr std::uint64_t kSeeds = 30;

BiasActivationCall AddOne(const DeviceNumbers& y, const DeviceNumbers& one) {
  return {.y = y.data(),
          .bias = one.data(),
          .rows = y.bytes() / sizeof(float),
          .columns = 1,
          .activation = DeviceActivation::kNone};
}

/// What kCopy reads of a number that kMain adds 1 to, three times.
float ReadBeside(std::uint64_t seed, bool with_event) {
  HostDevice device({.seed = seed});
  const DeviceNumbers y(&device, std::vector<float>{0}), one(&device, std::vector<float>{1});
  const DeviceEvent added = device.MakeEvent(), copied = device.MakeEvent();
  for (int time = 0; time < 3; ++time) device.Launch(Stream::kMain, Grid::For(1), AddOne(y, one));
  device.Record(Stream::kMain, added);
  if (with_event) device.WaitFor(Stream::kCopy, added);
  float out = -1;
  device.CopyOut(Stream::kCopy, &out, y.data(), sizeof out);
  device.Record(Stream::kCopy, copied);
  device.Await(copied);
  return out;
}

TEST(HostDeviceOrder, StreamsMeetAtEventsAlone) {
  std::set<float> without;
  for (std::uint64_t seed = 0; seed < 4 * kSeeds; ++seed) {
    EXPECT_EQ(ReadBeside(seed, true), 3) << "seed " << seed;
    without.insert(ReadBeside(seed, false));
  }
  EXPECT_EQ(without, (std::set<float>{0, 1, 2, 3})) << "some seed does each that may happen";
}

TEST(HostDeviceOrder, AWaitIsForTheRecordsBeforeIt) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    HostDevice device({.seed = seed});
    const DeviceNumbers y(&device, std::vector<float>{0}), one(&device, std::vector<float>{1});
    const DeviceEvent event = device.MakeEvent(), copied = device.MakeEvent();
    device.WaitFor(Stream::kCopy, event);  // not recorded yet: does not wait
    device.Launch(Stream::kMain, Grid::For(1), AddOne(y, one));
    device.Record(Stream::kMain, event);
    device.WaitFor(Stream::kCopy, event);
    float out = -1;
    device.CopyOut(Stream::kCopy, &out, y.data(), sizeof out);
    device.Record(Stream::kCopy, copied);
    device.WaitFor(Stream::kMain, copied);
    device.Launch(Stream::kMain, Grid::For(1), AddOne(y, one));
    device.Record(Stream::kMain, event);  // again: the wait above is not for this one
    device.Await(event);
    EXPECT_EQ(out, 1) << "seed " << seed;
    EXPECT_EQ(y.Read(), std::vector<float>{2});
  }
}

TEST(HostDeviceOrder, AStreamStillWaitsForAnEventThatWasGivenBack) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    HostDevice device({.seed = seed});
    const DeviceNumbers y(&device, std::vector<float>{0}), one(&device, std::vector<float>{1});
    const DeviceEvent added = device.MakeEvent();
    device.Launch(Stream::kMain, Grid::For(1), AddOne(y, one));
    device.Record(Stream::kMain, added);
    device.WaitFor(Stream::kCopy, added);
    device.DropEvent(added);
    const DeviceEvent copied = device.MakeEvent();
    float out = -1;
    device.CopyOut(Stream::kCopy, &out, y.data(), sizeof out);
    device.Record(Stream::kCopy, copied);
    device.Await(copied);
    EXPECT_EQ(out, 1) << "seed " << seed;
    EXPECT_EQ(device.events(), 1u);
    device.DropEvent(copied);
    device.DropEvent(-1);
  }
}

TEST(HostDeviceOrder, AwaitDoesNotPromiseWhatItsEventDoesNot) {
  bool left_undone = false;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    HostDevice device({.seed = seed});
    const DeviceNumbers y(&device, std::vector<float>{5});
    float early = -1, late = -1;
    const DeviceEvent event = device.MakeEvent();
    device.CopyOut(Stream::kMain, &early, y.data(), sizeof early);
    device.Record(Stream::kMain, event);
    device.CopyOut(Stream::kMain, &late, y.data(), sizeof late);
    device.Await(event);
    EXPECT_EQ(early, 5);
    left_undone |= late == -1;
    device.Finish();
    EXPECT_EQ(late, 5);
  }
  EXPECT_TRUE(left_undone);
}

TEST(HostDeviceOrder, ReachedBecomesTrueWithoutAwait) {
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    HostDevice device({.seed = seed});
    const DeviceNumbers y(&device, std::vector<float>{5});
    float out = -1;
    const DeviceEvent event = device.MakeEvent();
    device.CopyOut(Stream::kMain, &out, y.data(), sizeof out);
    device.Record(Stream::kMain, event);
    int asked = 1;
    while (asked < 100 && !device.Reached(event)) ++asked;
    EXPECT_LT(asked, 100);
    EXPECT_EQ(out, 5);
  }
}

TEST(HostDeviceOrder, HostMemoryIsReadWhenTheCopyIsDone) {
  HostDevice device;
  const DeviceNumbers y(&device, DeviceNumbers::Count{1});
  float in = 1;
  device.CopyIn(Stream::kMain, y.data(), &in, sizeof in);
  in = 2;  // against the contract
  EXPECT_EQ(y.Read(), std::vector<float>{2});
}

TEST(HostDeviceOrder, OtherStreamsRunBesideAReplay) {
  std::set<float> seen;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    HostDevice device({.seed = seed});
    const DeviceNumbers y(&device, std::vector<float>{0}), one(&device, std::vector<float>{1});
    device.BeginGraph(Stream::kMain);
    for (int time = 0; time < 2; ++time) device.Launch(Stream::kMain, Grid::For(1), AddOne(y, one));
    const DeviceGraph graph = device.EndGraph(Stream::kMain);
    device.Replay(Stream::kMain, graph);
    device.DropGraph(graph);  // what was enqueued is done
    float out = -1;
    device.CopyOut(Stream::kCopy, &out, y.data(), sizeof out);
    device.Finish();
    seen.insert(out);
    EXPECT_EQ(y.Read(), std::vector<float>{2});
  }
  EXPECT_EQ(seen, (std::set<float>{0, 1, 2}));
}

}  // namespace
}  // namespace murmurate
