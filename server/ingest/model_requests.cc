#include "server/ingest/model_requests.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace murmurate {
namespace {

/// The most that is kept: each client asks again by itself.
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

Result<std::uint32_t> ModelRequests::Lookup(const std::string& name, const std::string& text) {
  Result<Spaces> spaces = Spaces::Parse(text);
  if (!spaces.ok()) return InvalidArgument("model " + name + ": " + spaces.status().message());
  const auto known = models_->Find(name);
  if (!known) return Ask(name, text, *spaces);
  const Spaces& expected = (*models_)[*known].channel().spec.spaces;
  const std::string difference = FirstDifference(expected, *spaces);
  if (difference.empty()) return *known;
  return InvalidArgument("model " + name + ": " + difference +
                         "; give this game's model another name, or the game these spaces");
}

Result<std::uint32_t> ModelRequests::Ask(const std::string& name, const std::string& text,
                                         const Spaces& spaces) {
  if (failed_ && failed_->name == name && failed_->text == text) return failed_->offered.status();
  if (!maker_.pending(name)) {
    if (models_->size() + maker_.pending_count() >= ModelMaker::kMaxModels) {
      return ResourceError("model " + name + ": this learner has its " +
                           std::to_string(ModelMaker::kMaxModels) +
                           " models already; use one of their names");
    }
    maker_.Ask(name, text, spaces);
  }
  hello_waits_ = apart_;
  if (hello_waits_) return kBeingMade;
  (void)maker_.PollOnce(std::chrono::milliseconds(0));
  std::optional<ModelMaker::Made> made = maker_.PopMade();
  if (!made) return ResourceError("model " + name + ": the learner stops");
  if (!made->offered.ok()) return made->offered.status();
  return models_->Add(name, *made->offered);
}

bool ModelRequests::AddMade(std::int64_t now_ns) {
  bool any = false;
  while (std::optional<ModelMaker::Made> made = maker_.PopMade()) {
    any = true;
    if (made->offered.ok()) {
      if (const auto number = models_->Add(made->name, *made->offered); !number.ok())
        made->offered = number.status();
    }
    if (!made->offered.ok()) failed_ = std::move(made);
    for (WaitingHello& hello : std::exchange(waiting_, {}))
      Converse(std::move(hello.peer), std::move(hello.message), now_ns);
    failed_.reset();
  }
  return any;
}

void ModelRequests::Converse(std::string peer, wire::Decoded message, std::int64_t now_ns) {
  hello_waits_ = false;
  session_->OnMessage(peer, message, *this, now_ns);
  const bool hello = std::holds_alternative<wire::Hello>(message.body);
  if (hello || std::holds_alternative<wire::Bye>(message.body))
    std::erase_if(waiting_, [&](const WaitingHello& other) { return other.peer == peer; });
  if (hello_waits_) Keep(std::move(peer), std::move(message));
}

void ModelRequests::Keep(std::string peer, wire::Decoded hello) {
  std::size_t bytes = BytesOf(hello);
  for (const WaitingHello& other : waiting_) bytes += BytesOf(other.message);
  if (bytes > kMaxWaitingBytes || waiting_.size() >= kMaxWaitingHellos) return;
  hello.block = {};
  waiting_.push_back({std::move(peer), std::move(hello)});
}

bool ModelRequests::MakeModels(int timeout_ms) {
  return maker_.PollOnce(std::chrono::milliseconds(timeout_ms));
}

}  // namespace murmurate
