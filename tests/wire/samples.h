// Valid messages of every type, as frames, for tests that read them, break them or play them.
#pragma once

#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "shared/wire/messages.h"

namespace murmurate::wire {

/// Frames of exactly the size of their bytes, so that a sanitizer sees every read beyond an end.
struct WireMessage {
  std::vector<std::vector<std::byte>> frames;

  std::vector<std::span<const std::byte>> spans() const { return {frames.begin(), frames.end()}; }
  std::variant<Decoded, DecodeFailure> Decode() const { return wire::Decode(spans()); }
};

inline WireMessage ToWire(const Body& body, std::uint64_t sender, std::uint64_t sequence,
                          const std::vector<std::byte>* block = nullptr) {
  const Encoded encoded = Encode(body, sender, sequence, block == nullptr ? 0 : block->size());
  WireMessage message;
  message.frames.emplace_back(encoded.header.begin(), encoded.header.end());
  message.frames.push_back(encoded.metadata);
  if (block != nullptr) message.frames.push_back(*block);
  return message;
}

inline Spaces SampleSpaces() { return {Box({3}), Discrete(2)}; }
inline TrajectoryLayout SampleLayout() { return TrajectoryLayout(SampleSpaces(), 8); }

/// Two steps of three numbers, the second truncated, and one finished episode, laid out by hand:
/// 0 observation 24, 64 action 8, 128 log_prob 8, 192 reward 8, 256 flags 2, 320 next_observation
/// 12, 384 episodes 16, 448 final_observation 12.
inline Experience SampleExperience() {
  Experience e;
  e.model = 0;
  e.agent = 5;
  e.incarnation = 77;
  e.version = 3;
  e.first_step = 100;
  e.steps = 2;
  e.agent_steps = 102;
  e.columns = {{{0, 24}, {64, 8}, {128, 8}, {192, 8}, {256, 2}, {448, 12}, {320, 12}, {384, 16}}};
  e.reports = {{"kills", 3.5, 2}};
  (void)e.changes.Add(1, 4);
  return e;
}

inline std::vector<std::byte> SampleBlock() {
  std::vector<std::byte> block(460);
  const auto put = [&block](std::size_t at, const auto& values) {
    std::memcpy(block.data() + at, values.data(), values.size() * sizeof(values[0]));
  };
  put(0, std::array<float, 6>{1, 2, 3, 4, 5, 6});
  put(64, std::array<std::int32_t, 2>{1, 0});
  put(128, std::array<float, 2>{-0.5f, -0.25f});
  put(192, std::array<float, 2>{1.0f, -1.0f});
  put(256, std::array<std::uint8_t, 2>{kFirst, kTruncatedFlag});
  put(320, std::array<float, 3>{7, 8, 9});
  put(384, std::array<double, 1>{12.5});
  put(392, std::array<std::uint32_t, 2>{200, 0});
  put(448, std::array<float, 3>{7, 8, 9});
  return block;
}

inline Hello SampleHello() {
  Hello hello;
  hello.actor_name = "game-7";
  hello.host_identity = 0x0123456789abcdef;
  hello.pace = Pace::kCredit;
  hello.accept_reset = true;
  hello.pid = 4242;
  hello.models = {{"npc", SampleSpaces().ToText(), {0, 5}, 9, 11}, {"boss", "x", {}, 0, 0}};
  hello.number = 3;
  hello.sequence = 41;
  hello.features = 5;
  return hello;
}

inline HelloOk SampleHelloOk() {
  HelloOk ok;
  ok.incarnation = 77;
  ok.resumed = true;
  ok.heartbeat_ms = 500;
  ok.max_message_bytes = 1 << 20;
  ok.bytes_total = 4096;
  ok.announce_address = "tcp://127.0.0.1:7421";
  ok.weights_address = "tcp://127.0.0.1:7422";
  ok.session = 12;
  ok.number = 3;
  ok.sequence = 41;
  ok.kept_sequence = 40;
  HelloOkModel model;
  model.name = "npc";
  model.id = ModelId("npc");
  model.member = 1;
  model.spec = "murmurate-model 1\n";
  model.version = 8;
  model.trajectory_length = 8;
  model.max_trajectory_ms = 5000;
  model.segment = "/murmurate-0-run-npc-77";
  model.agent_indices = {2, 3};
  model.agent_seeds = {1111, 2222};
  model.steps_total = 64;
  model.at_version = 7;
  model.changes = true;
  model.evaluation_share = 0.25;
  ok.models = {model};
  return ok;
}

inline StreamHello SampleStreamHello() { return {1, 1, "plant-7", "temp", {"temp", "hum"}, 3, 41}; }
inline StreamOk SampleStreamOk() {
  return {77, 3, 256, "temp", {"temp", "hum"}, {1}, {1, 6}, {0.1, 0.9}};
}
inline Sample SampleOfAPump() {
  return {"pump-1", 1'700'000'000'500'000'000, 41, "a7", {21.5f, 40}};
}
inline Forecast SampleForecast() {
  return {5,
          1'700'000'000'500'000'000,
          9,
          1,
          {1'700'000'001'500'000'000, 1'700'000'006'500'000'000},
          {{21.25f, 21.25f, 21.5f, 0.25f, 0.5f, 0.75f, 100, true}, {22, 20, 22, 2, 1, 1, 7, false}},
          {21, 22, 19.5f, 23}};
}

/// One of every type; the sender is 99, the sequence 7.
inline std::vector<WireMessage> EveryMessage() {
  const std::vector<std::byte> block = SampleBlock(), chunk(100, std::byte{0x5a});
  const auto wire = [](const Body& body) { return ToWire(body, 99, 7); };
  return {wire(SampleHello()),
          wire(SampleHelloOk()),
          ToWire(SampleExperience(), 99, 7, &block),
          wire(Accepted{7, 1000, {{64, 2, 3}, {128, 0, 1}}}),
          wire(Ping{-5, {{1000, 24, 7}}, {{0, 3, 8, "NaN at place 1"}}, {{30, 40}}}),
          wire(Pong{-5, 77, {{64, 2, 3}}}),
          wire(Goaway{"stopped by the user", 3000, true}),
          wire(Error{Refusal::kSpaces, "action: expected discrete 2, got discrete 3", 7}),
          wire(Bye{}),
          wire(Pull{ModelId("npc"), 8, 4096, 3}),
          ToWire(Chunk{ModelId("npc"), 77, 8, 1000, 900, 0xfeed}, 99, 7, &chunk),
          wire(Admin{"status"}),
          wire(AdminOk{false, "{\"a\":1}\n"}),
          wire(Settings{513, {{"difficulty", 2.5}, {"wind", -1.0}}}),
          wire(Committed{1, 40, 38, 300}),
          wire(Join{"npc", "murmurate-model 1\n", "rule sync", 3, 1, 2, 41, 5, "/murmurate-p"}),
          wire(Joined{9, 64, 32, true, 40, "/murmurate-s"}),
          ToWire(Push{41, 9, 0.25, 7}, 99, 7, &chunk),
          ToWire(Center{41, 10, 1, 0.5, true, 38}, 99, 7, &chunk),
          wire(Alive{true}),
          wire(AskRule{"default"}),
          wire(ShardRule{"rule asgd, form gradient", 1, 2}),
          wire(SampleStreamHello()),
          wire(SampleStreamOk()),
          wire(SampleOfAPump()),
          wire(SampleForecast()),
          wire(Taken{}),
          wire(Refused{"duplicate", "it came before"}),
          wire(SamplesCommitted{{{"pump-1", 41}, {"pump-2", 7}}, true})};
}

}  // namespace murmurate::wire
