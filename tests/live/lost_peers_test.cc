#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "tests/live/scene.h"

namespace murmurate {
namespace {

Stage::Settings Impatient() {
  Stage::Settings settings;
  settings.batch_trajectories = 4;
  settings.limits.stalled_after_ns = 100 * kNanosecondsPerMillisecond;
  settings.limits.gone_after_ns = 300 * kNanosecondsPerMillisecond;
  return settings;
}

TEST(LostPeers, WhatAStalledActorHeldGoesToTheOthers) {
  Scene scene(1, Impatient());
  // It holds up to half of what may be outstanding, and never sends.
  auto stalled = scene.stage.NewLiveActor(666, /*agents=*/4);
  EXPECT_TRUE(scene.HonestGoOn(50)) << "six batches";
  using Health = wire::ServerSession::ActorReport::Health;
  EXPECT_TRUE(scene.Until([&] {
    for (const auto& actor : scene.stage.ingest->CollectReport().actors) {
      if (actor.sender == 666 && actor.health == Health::kLive) return false;
    }
    return true;
  }));
}

TEST(LostPeers, AnActorThatWakesUpIsTakenBackIn) {
  Scene scene(1, Impatient());
  auto sleeper = std::make_unique<HonestActor>(scene.stage, 2);
  ASSERT_TRUE(scene.HonestGoOn(50));
  scene.honest.push_back(std::move(sleeper));  // from here on it plays
  EXPECT_TRUE(scene.Until([&] {
    scene.honest[1]->actor().Listen();
    return scene.honest[1]->arrived() > 0 || !scene.honest[1]->actor().errors.empty();
  }));
}

/// An honest actor in a process of its own, which is told the address through a pipe.
pid_t StartActorProcess(int* address_pipe) {
  std::array<int, 2> ends;
  if (pipe(ends.data()) != 0) return -1;
  const pid_t pid = fork();
  if (pid != 0) {
    close(ends[0]);
    *address_pipe = ends[1];
    return pid;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  close(ends[1]);
  char address[128] = {};
  if (read(ends[0], address, sizeof address - 1) <= 0) _exit(1);
  SocketContext context;
  StageActor actor(context, address, 666, "victim");
  const TrajectoryLayout layout(StageSpaces(), kStageLength);
  while (!actor.SayHello({{"default", StageSpaces()}})) usleep(1000);
  for (;;) {
    actor.Listen();
    if (!actor.welcome.has_value()) continue;
    const std::uint64_t granted = actor.accepted.models.empty()
                                      ? actor.welcome->models[0].steps_total
                                      : actor.accepted.models[0].steps_total;
    if (actor.sent() * kStageLength < granted) actor.Ship(MakeShipment(layout, kStageLength, 3));
  }
}

TEST(LostPeers, AKilledActorStopsNobody) {
  int address_pipe = -1;
  const pid_t victim = StartActorProcess(&address_pipe);  // before this process has threads
  ASSERT_GT(victim, 0);
  {
    Scene scene(1, Impatient());
    const std::string address = scene.stage.ingest->addresses()[0];
    ASSERT_EQ(write(address_pipe, address.data(), address.size()),
              static_cast<ssize_t>(address.size()));
    EXPECT_TRUE(scene.Until([&] { return scene.trained > scene.honest[0]->arrived() + 20; }))
        << "the victim's trajectories arrive";
    ASSERT_EQ(kill(victim, SIGKILL), 0);
    ASSERT_EQ(waitpid(victim, nullptr, 0), victim);
    EXPECT_TRUE(scene.HonestGoOn(50));
    auto replacement = scene.stage.NewLiveActor(667);
    EXPECT_TRUE(replacement->welcome.has_value());
  }
  close(address_pipe);
}

TEST(LostPeers, APeerThatNeverReadsItsAnswersStopsNobody) {
  Scene scene(1);
  auto deaf = scene.stage.NewLiveActor(666);
  for (int i = 0; i < 20000; ++i) {
    (void)deaf->Send(wire::Ping{0, {{}}}, 0);
    if (i % 64 == 0) scene.Turn();
  }
  EXPECT_TRUE(scene.HonestGoOn());
}

}  // namespace
}  // namespace murmurate
