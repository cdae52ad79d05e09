#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <limits>

#include "shared/core/random.h"
#include "tests/live/scene.h"

namespace murmurate {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

using Bytes = std::vector<std::byte>;

Bytes RandomBytes(Random& random, std::size_t count) {
  Bytes bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.Next());
  return bytes;
}

/// The three frames of a valid EXPERIENCE.
std::vector<Bytes> ValidFrames(std::uint64_t sender, std::uint64_t sequence) {
  Shipment shipment = MakeShipment(TrajectoryLayout(StageSpaces(), kStageLength), 4, 1);
  const wire::Encoded encoded =
      wire::Encode(shipment.metadata, sender, sequence, shipment.block.size());
  return {Bytes(encoded.header.begin(), encoded.header.end()), encoded.metadata, shipment.block};
}

void SendAll(StageActor& actor, const std::vector<Bytes>& frames) {
  actor.SendFrames({frames.begin(), frames.end()});
}

/// Hostile peers are muted after twenty refusals a minute; these tests want every answer.
Stage::Settings Patient() {
  Stage::Settings settings;
  settings.limits.rejects_per_minute = 1'000'000;
  return settings;
}

std::unique_ptr<StageActor> GreetedStranger(Scene& scene, std::uint64_t sender) {
  auto stranger = scene.stage.NewActor(sender, "stranger");
  scene.stage.Greet(*stranger, {{"default", StageSpaces()}});
  return stranger;
}

/// What the stranger is answered to one shipment.
wire::Error AnswerTo(Scene& scene, StageActor& stranger, Shipment shipment,
                     std::uint64_t sequence = 0) {
  stranger.errors.clear();
  stranger.Ship(std::move(shipment), 0, 0, sequence);
  EXPECT_TRUE(scene.Until([&] {
    stranger.Listen();
    return !stranger.errors.empty();
  }));
  return stranger.errors.empty() ? wire::Error{} : stranger.errors[0];
}

Shipment Ordinary() {
  return MakeShipment(TrajectoryLayout(StageSpaces(), kStageLength), kStageLength, 1);
}

TEST(HostileInput, RandomBytesInAnyNumberOfFramesHarmNobody) {
  Scene scene(2, Patient());
  auto stranger = scene.stage.NewActor(666);
  Random random(1);
  for (int i = 0; i < 3000; ++i) {
    std::vector<Bytes> frames;
    const std::uint32_t count = 1 + random.UniformInt(9);
    for (std::uint32_t f = 0; f < count; ++f) {
      frames.push_back(
          RandomBytes(random, random.UniformInt(random.UniformInt(8) == 0 ? 65536 : 64)));
    }
    SendAll(*stranger, frames);
    stranger->Listen();
    scene.Turn();
  }
  EXPECT_TRUE(scene.HonestGoOn());
  EXPECT_GT(
      scene.stage.ingest->CollectReport().refusals[static_cast<int>(wire::Refusal::kMalformed)],
      0u);
}

TEST(HostileInput, EveryTruncationOfAValidMessageIsRefused) {
  Scene scene(1, Patient());
  auto stranger = GreetedStranger(scene, 666);
  const std::vector<Bytes> valid = ValidFrames(666, 1);
  for (std::size_t frame = 0; frame < valid.size(); ++frame) {
    for (std::size_t size = 0; size < valid[frame].size(); ++size) {
      std::vector<Bytes> cut = valid;
      cut[frame].resize(size);
      SendAll(*stranger, cut);
      if (size == 0) SendAll(*stranger, {valid.begin(), valid.begin() + static_cast<int>(frame)});
      stranger->Listen();
      scene.Turn();
    }
  }
  EXPECT_TRUE(scene.HonestGoOn());
  EXPECT_GT(scene.refusals(), 100u);
}

TEST(HostileInput, FlippedBitsHarmNobody) {
  Scene scene(2, Patient());
  auto stranger = GreetedStranger(scene, 666);
  Random random(2);
  for (int i = 0; i < 3000; ++i) {
    std::vector<Bytes> frames = ValidFrames(666, static_cast<std::uint64_t>(i) + 1);
    for (std::uint32_t flip = 0; flip <= random.UniformInt(8); ++flip) {
      Bytes& frame = frames[random.UniformInt(3)];
      frame[random.UniformInt(static_cast<std::uint32_t>(frame.size()))] ^=
          static_cast<std::byte>(1u << random.UniformInt(8));
    }
    SendAll(*stranger, frames);
    stranger->Listen();
    scene.Turn();
  }
  EXPECT_TRUE(scene.HonestGoOn());
}

TEST(HostileInput, AHugeFrameCostsItsSenderTheConnectionAndTheLearnerNoMemory) {
  Scene scene(1);
  const Bytes huge(24u << 20, std::byte{1});
  ASSERT_TRUE(scene.HonestGoOn(5));
  const std::size_t before = ResidentBytes();
  for (int i = 0; i < 4; ++i) {
    auto stranger = scene.stage.NewActor(666);
    ASSERT_TRUE(scene.Until([&] { return stranger->SendFrames({huge}) == SendOutcome::kSent; }));
    EXPECT_TRUE(scene.HonestGoOn(5));
  }
  EXPECT_LT(ResidentBytes(), before + (32u << 20));
}

TEST(HostileInput, NothingButHelloIsTakenFromAStranger) {
  Scene scene(1);
  auto stranger = scene.stage.NewActor(666);
  ASSERT_TRUE(scene.Until([&] {
    stranger->Ship(Ordinary(), 0, 0, 1);
    stranger->Listen();
    return !stranger->errors.empty();
  }));
  EXPECT_EQ(stranger->errors[0].refusal, wire::Refusal::kNotRegistered);
  EXPECT_TRUE(scene.HonestGoOn());
}

TEST(HostileInput, ASkippedSequenceNumberIsRefused) {
  Scene scene(1);
  auto stranger = GreetedStranger(scene, 666);
  EXPECT_EQ(AnswerTo(scene, *stranger, Ordinary(), 9).refusal, wire::Refusal::kSequence);
  EXPECT_TRUE(scene.HonestGoOn());
}

TEST(HostileInput, NumbersThatAreNotFiniteAreRefusedByColumnAndStep) {
  Scene scene(1);
  auto stranger = GreetedStranger(scene, 666);
  Shipment poisoned = Ordinary();
  poisoned.ColumnAs<float>(Column::kObservation)[5] = std::numeric_limits<float>::quiet_NaN();
  wire::Error answer = AnswerTo(scene, *stranger, std::move(poisoned));
  EXPECT_EQ(answer.refusal, wire::Refusal::kNotFinite);
  EXPECT_THAT(answer.sentence, HasSubstr("observation of step 2"));
  poisoned = Ordinary();
  poisoned.ColumnAs<float>(Column::kReward)[3] = std::numeric_limits<float>::infinity();
  answer = AnswerTo(scene, *stranger, std::move(poisoned));
  EXPECT_EQ(answer.refusal, wire::Refusal::kNotFinite);
  EXPECT_THAT(answer.sentence, HasSubstr("reward of step 3"));
  EXPECT_TRUE(scene.HonestGoOn());
}

TEST(HostileInput, AnActionOutsideTheSpaceIsRefused) {
  Scene scene(1);
  auto stranger = GreetedStranger(scene, 666);
  Shipment wild = Ordinary();
  wild.ColumnAs<std::int32_t>(Column::kAction)[0] = 1 << 30;
  const wire::Error answer = AnswerTo(scene, *stranger, std::move(wild));
  EXPECT_EQ(answer.refusal, wire::Refusal::kMeaning);
  EXPECT_THAT(answer.sentence, HasSubstr("action of step 0: expected 0 to 1"));
  EXPECT_TRUE(scene.HonestGoOn());
}

TEST(HostileInput, ColumnsThatLieOutsideTheBlockAreRefused) {
  Scene scene(1);
  auto stranger = GreetedStranger(scene, 666);
  for (const std::uint32_t offset : {64u << 20, 0xffffffc0u, 3u}) {
    Shipment liar = Ordinary();
    liar.metadata.columns[static_cast<int>(Column::kReward)].offset = offset;
    EXPECT_THAT(AnswerTo(scene, *stranger, std::move(liar)).refusal,
                AnyOf(wire::Refusal::kMeaning, wire::Refusal::kMalformed));
  }
  Shipment liar = Ordinary();
  liar.metadata.columns[static_cast<int>(Column::kObservation)].bytes = 0xfffffff0u;
  EXPECT_THAT(AnswerTo(scene, *stranger, std::move(liar)).refusal,
              AnyOf(wire::Refusal::kMeaning, wire::Refusal::kMalformed));
  EXPECT_TRUE(scene.HonestGoOn());
}

TEST(HostileInput, OtherSpacesAreRefusedAndTheModelStaysAsItWas) {
  Scene scene(1);
  auto stranger = scene.stage.NewActor(666);
  scene.stage.Greet(*stranger, {{"default", Spaces{Box({3}), Discrete(2)}}});
  ASSERT_FALSE(stranger->errors.empty());
  EXPECT_EQ(stranger->errors[0].refusal, wire::Refusal::kSpaces);
  EXPECT_TRUE(scene.HonestGoOn());
}

TEST(HostileInput, AFloodWithoutCreditIsRefusedAndBoundedInMemory) {
  Scene scene(2);
  auto stranger = GreetedStranger(scene, 666);
  ASSERT_TRUE(scene.HonestGoOn(5));
  const std::size_t before = ResidentBytes();
  Shipment fat = Ordinary();
  fat.block.resize(256 * 1024);
  for (int i = 0; i < 2000; ++i) {
    stranger->Ship(fat);
    if (i % 8 == 0) scene.Turn();
  }
  EXPECT_LT(ResidentBytes(), before + (96u << 20));
  EXPECT_TRUE(scene.HonestGoOn());
  EXPECT_GT(scene.refusals(), 0u);
}

TEST(HostileInput, ALearnerThatStandsStillIsNotBuriedInExperience) {
  Stage::Settings settings;
  settings.batch_trajectories = 4;
  Stage stage(std::move(settings));
  HonestActor honest(stage, 1);
  auto greedy = stage.NewLiveActor(2);
  const std::size_t before = ResidentBytes();
  for (int i = 0; i < 2000; ++i) {
    honest.Play();
    greedy->Ship(Ordinary());
    stage.ingest->PollOnce(0);
  }
  EXPECT_LE(honest.shipped(), 8u) << "two batches of four";
  EXPECT_LT(ResidentBytes(), before + (32u << 20));
}

TEST(HostileInput, RawConnectionsFullOfNoiseHarmNobody) {
  Scene scene(1);
  const std::string address = scene.stage.ingest->addresses()[0];
  sockaddr_in target{};
  target.sin_family = AF_INET;
  target.sin_port =
      htons(static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
  target.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  Random random(3);
  std::vector<int> idle;
  for (int i = 0; i < 200; ++i) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT_GE(fd, 0);
    if (connect(fd, reinterpret_cast<const sockaddr*>(&target), sizeof target) == 0 && i % 2 == 0) {
      const Bytes noise = RandomBytes(random, 1 + random.UniformInt(4096));
      (void)!send(fd, noise.data(), noise.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    }
    idle.push_back(fd);
    scene.Turn();
  }
  EXPECT_TRUE(scene.HonestGoOn());
  for (const int fd : idle) close(fd);
  EXPECT_TRUE(scene.HonestGoOn());
}

}  // namespace
}  // namespace murmurate
