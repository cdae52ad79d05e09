// The fuzzer's entry over a generated corpus: whole conversations and deterministic damage to them.
#include <gtest/gtest.h>

#include "shared/core/random.h"
#include "tests/wire/samples.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace murmurate::wire {
namespace {

void Append(const WireMessage& message, std::vector<std::uint8_t>* input) {
  input->push_back(static_cast<std::uint8_t>(message.frames.size()));
  for (const auto& frame : message.frames) {
    input->push_back(static_cast<std::uint8_t>(frame.size()));
    input->push_back(static_cast<std::uint8_t>(frame.size() >> 8));
    for (const std::byte byte : frame) input->push_back(std::to_integer<std::uint8_t>(byte));
  }
}

/// HELLO, trajectories, PING, BYE and everything a learner says, in order.
std::vector<std::uint8_t> Conversation() {
  std::vector<std::uint8_t> input;
  Hello hello = SampleHello();
  hello.models.resize(1);
  Append(ToWire(hello, 99, 0), &input);
  const std::vector<std::byte> block = SampleBlock();
  for (std::uint64_t sequence = 1; sequence <= 4; ++sequence) {
    Append(ToWire(SampleExperience(), 99, sequence, &block), &input);
  }
  for (const WireMessage& message : EveryMessage()) Append(message, &input);
  return input;
}

void Play(const std::vector<std::uint8_t>& input) {
  EXPECT_EQ(LLVMFuzzerTestOneInput(input.data(), input.size()), 0);
}

TEST(FuzzReplay, WholeConversationIsPlayed) { Play(Conversation()); }

TEST(FuzzReplay, NothingAtAllIsPlayed) { Play({}); }

TEST(FuzzReplay, DamagedConversationsAreSurvived) {
  const std::vector<std::uint8_t> whole = Conversation();
  Random random(20261120);
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::uint8_t> broken = whole;
    const std::uint32_t wounds = 1 + random.UniformInt(8);
    for (std::uint32_t i = 0; i < wounds; ++i) {
      const std::uint32_t at = random.UniformInt(static_cast<std::uint32_t>(broken.size()));
      switch (random.UniformInt(4)) {
        case 0:
          broken[at] ^= static_cast<std::uint8_t>(1u << random.UniformInt(8));
          break;
        case 1:
          broken[at] = static_cast<std::uint8_t>(random.Next());
          break;
        case 2:
          broken.erase(broken.begin() + at);
          break;
        default:
          broken.insert(broken.begin() + at, static_cast<std::uint8_t>(random.Next()));
      }
    }
    Play(broken);
  }
}

TEST(FuzzReplay, NoiseIsSurvived) {
  Random random(7);
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::uint8_t> noise(random.UniformInt(2000));
    for (std::uint8_t& byte : noise) byte = static_cast<std::uint8_t>(random.Next());
    Play(noise);
  }
}

}  // namespace
}  // namespace murmurate::wire
