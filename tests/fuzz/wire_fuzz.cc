// Any bytes as a conversation: decoder, trajectory view and both sessions must live through it, and
// what the decoder takes must be readable and mean the same when it is written again.
//
// The input is a list of messages: {frame count, then for each frame its size (u16) and bytes}.
// Build with clang and -DMURMURATE_FUZZ=ON for libFuzzer's `wire_fuzz`;
// tests/wire/fuzz_replay_test.cc plays a generated corpus through the same entry under every
// compiler.
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "server/session/server_session.h"
#include "shared/wire/client_session.h"
#include "tests/wire/samples.h"

namespace murmurate::wire {
namespace {

class OneModel : public ServerSession::Models {
 public:
  Result<std::uint32_t> Lookup(const std::string& name, const std::string& spaces) override {
    if (name == "npc" && spaces == SampleSpaces().ToText()) return std::uint32_t{0};
    return InvalidArgument("another model");
  }
};

void Require(bool condition) {
  if (!condition) std::abort();
}

/// Takes the next message off the input; false at its end.
bool Next(std::span<const std::uint8_t>* input, WireMessage* message) {
  if (input->empty()) return false;
  const int count = (*input)[0] % 6;
  *input = input->subspan(1);
  message->frames.clear();
  for (int i = 0; i < count && input->size() >= 2; ++i) {
    const std::size_t claimed = (*input)[0] | (*input)[1] << 8;
    *input = input->subspan(2);
    const auto bytes = std::as_bytes(input->first(std::min(claimed, input->size())));
    message->frames.emplace_back(bytes.begin(), bytes.end());
    *input = input->subspan(bytes.size());
  }
  return true;
}

void WalkTrajectory(const Decoded& decoded) {
  TrajectoryView view;
  std::vector<std::uint64_t> aligned(decoded.block.size() / 8 + 1);
  if (!decoded.block.empty()) {
    std::memcpy(aligned.data(), decoded.block.data(), decoded.block.size());
  }
  const auto block = std::as_bytes(std::span(aligned)).first(decoded.block.size());
  const auto& experience = std::get<Experience>(decoded.body);
  if (!ViewTrajectory(experience, block, SampleLayout(), &view).ok()) return;
  std::size_t bytes = view.observation.size_bytes() + view.action.size_bytes() +
                      view.log_prob.size_bytes() + view.reward.size_bytes() +
                      view.flags.size_bytes() + view.final_observation.size_bytes() +
                      view.next_observation.size_bytes() + view.episodes.size_bytes();
  Require(bytes <= block.size());
  (void)CheckTrajectory(view, SampleLayout());
}

void PlayToServer(ServerSession& server, const Decoded& decoded, const DecodeFailure* failure,
                  std::int64_t now_ns) {
  OneModel models;
  if (failure != nullptr) {
    server.OnUndecodable("peer", *failure, now_ns);
  } else if (std::holds_alternative<Experience>(decoded.body)) {
    const auto verdict = server.OnExperience("peer", decoded, now_ns);
    if (verdict.accept) {
      Require(verdict.model == 0);
      const bool good = now_ns % 2 == 0;
      server.Acknowledge("peer", decoded, good ? Refusal::kNone : Refusal::kMeaning, "odd", now_ns);
    }
  } else {
    server.OnMessage("peer", decoded, models, now_ns);
  }
  if (now_ns % 3 == 0) server.OnTick(now_ns);
  if (now_ns % 5 == 0) server.ReleaseTrajectories(0, 1, static_cast<std::uint64_t>(now_ns), now_ns);
}

}  // namespace
}  // namespace murmurate::wire

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace murmurate::wire;
  ServerSession server(77, false, 1, {});
  SessionModel model;
  model.welcome = SampleHelloOk().models[0];
  model.block_bytes = SampleLayout().block_bytes;
  model.outstanding_limit = 8;
  model.batch_trajectories = 4;
  (void)server.AddModel(std::move(model));
  ClientSession client(99);
  (void)client.Introduce(SampleHello(), 0);
  std::span<const std::uint8_t> input(data, size);
  WireMessage message;
  std::uint64_t bytes_total = 0;
  for (std::int64_t now_ns = 1; Next(&input, &message); now_ns += 700'000'001) {
    const auto result = message.Decode();
    const auto* failure = std::get_if<DecodeFailure>(&result);
    static const Decoded kNothing;
    const Decoded& decoded = failure != nullptr ? kNothing : std::get<Decoded>(result);
    if (failure == nullptr) {
      const Encoded again = Encode(decoded.body, decoded.header.sender, decoded.header.sequence,
                                   decoded.block.size());
      Require(again.metadata.size() <= kMaxHelloBytes + 4096);
      if (std::holds_alternative<Experience>(decoded.body)) WalkTrajectory(decoded);
      (void)client.OnMessage(decoded, now_ns);
      if (client.fresh_session()) bytes_total = 0;
      Require(client.totals().bytes() >= bytes_total);
      bytes_total = client.totals().bytes();
    }
    PlayToServer(server, decoded, failure, now_ns);
    (void)client.OnTick({}, now_ns);
    Require(server.PopReplies().size() < 64);
    Require(server.Actors(now_ns).size() < 65);
  }
  return 0;
}
