// How ingest comes to its models: what a HELLO names, has made and waits for.
#include <algorithm>
#include <utility>

#include "server/ingest/ingest_state.h"
#include "server/ingest/offered_model.h"
#include "shared/core/clock.h"

namespace murmurate {
namespace {

/// Beyond these nothing is kept: each client asks again by itself.
constexpr std::size_t kMaxWaitingHellos = 1024;
constexpr std::size_t kMaxWaitingBytes = 16u << 20;

std::size_t BytesOf(const wire::Decoded& message) {
  std::size_t bytes = sizeof(message);
  for (const wire::HelloModel& model : std::get<wire::Hello>(message.body).models)
    bytes += sizeof(model) + model.name.size() + model.spaces.size() +
             model.agents.size() * sizeof(model.agents[0]);
  return bytes;
}

}  // namespace

Result<std::uint32_t> Ingest::State::Lookup(const std::string& name, const std::string& text) {
  Result<Spaces> spaces = Spaces::Parse(text);
  if (!spaces.ok()) return InvalidArgument("model " + name + ": " + spaces.status().message());
  const auto known = model_numbers.find(name);
  if (known == model_numbers.end()) return AskForModel(name, text, *spaces);
  const Spaces& expected = assemblies[known->second]->channel().spec.spaces;
  const std::string difference = FirstDifference(expected, *spaces);
  if (difference.empty()) return known->second;
  return InvalidArgument("model " + name + ": " + difference +
                         "; give this game's model another name, or the game these spaces");
}

Result<std::uint32_t> Ingest::State::AskForModel(const std::string& name, const std::string& text,
                                                 const Spaces& spaces) {
  if (failed && failed->name == name && failed->text == text) return failed->offered.status();
  if (!maker.pending(name)) {
    if (assemblies.size() + maker.pending_count() >= ModelMaker::kMaxModels) {
      return ResourceError("model " + name + ": this learner has its " +
                           std::to_string(ModelMaker::kMaxModels) +
                           " models already; use one of their names");
    }
    maker.Ask(name, text, spaces);
  }
  hello_waits = options.models_apart;
  if (hello_waits) return kBeingMade;
  (void)maker.PollOnce(std::chrono::milliseconds(0));
  std::optional<ModelMaker::Made> made = maker.Take();
  if (!made) return ResourceError("model " + name + ": the learner stops");
  if (!made->offered.ok()) return made->offered.status();
  return TakeModel(name, *made->offered);
}

Result<std::uint32_t> Ingest::State::TakeModel(const std::string& name,
                                               const OfferedModel& offered) {
  Result<wire::SessionModel> model = ForSession(name, offered, options.shm);
  if (!model.ok()) return model.status();
  const std::uint32_t number = session.AddModel(*std::move(model));
  assemblies.push_back(std::make_unique<Assembly>(name, offered, MonotonicNs()));
  model_numbers.emplace(name, number);
  const ExperienceChannel& channel = assemblies.back()->channel();
  session.SetVersion(number, channel.version.load(std::memory_order_acquire));
  session.SetLearned(number, channel.learned_steps.load(std::memory_order_acquire));
  return number;
}

/// Takes the models that were made meanwhile, and answers the clients that waited for them.
void Ingest::State::TakeMade(std::int64_t now_ns) {
  while (std::optional<ModelMaker::Made> made = maker.Take()) {
    if (made->offered.ok()) {
      if (const auto number = TakeModel(made->name, *made->offered); !number.ok())
        made->offered = number.status();
    }
    if (!made->offered.ok()) failed = std::move(made);
    urgent = true;
    for (WaitingHello& hello : std::exchange(waiting_hellos, {}))
      Converse(std::move(hello.peer), std::move(hello.message), now_ns);
    failed.reset();
  }
}

/// A message that is no EXPERIENCE.
void Ingest::State::Converse(std::string peer, wire::Decoded message, std::int64_t now_ns) {
  hello_waits = false;
  session.OnMessage(peer, message, *this, now_ns);
  const bool hello = std::holds_alternative<wire::Hello>(message.body);
  if (hello || std::holds_alternative<wire::Bye>(message.body))
    std::erase_if(waiting_hellos, [&](const WaitingHello& other) { return other.peer == peer; });
  if (hello_waits) Keep(std::move(peer), std::move(message));
}

void Ingest::State::Keep(std::string peer, wire::Decoded hello) {
  std::size_t bytes = BytesOf(hello);
  for (const WaitingHello& other : waiting_hellos) bytes += BytesOf(other.message);
  if (bytes > kMaxWaitingBytes || waiting_hellos.size() >= kMaxWaitingHellos) return;
  hello.block = {};
  waiting_hellos.push_back({std::move(peer), std::move(hello)});
}

void Ingest::MakeModels(int timeout_ms) {
  if (state_->maker.PollOnce(std::chrono::milliseconds(timeout_ms))) Wake();
}

void Ingest::StopMaking() { state_->maker.Stop(); }

}  // namespace murmurate
