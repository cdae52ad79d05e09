#include "server/parameters/parameter_server.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <utility>
#include <vector>

#include "server/parameters/model_shards.h"
#include "server/parameters/segment_exchange.h"
#include "shared/core/check.h"
#include "shared/core/clock.h"
#include "shared/core/random.h"
#include "shared/wire/messages.h"

namespace murmurate {
namespace {

constexpr int kMessagesPerRound = 64;
constexpr std::size_t kMaxBlockBytes = std::size_t{4} << 30;
constexpr std::int64_t kTickEveryNs = 100'000'000;
constexpr std::int64_t kLetGoEveryNs = 2'000'000'000;
constexpr double kLargestRate = 1e6;  // as in a message

}  // namespace

struct ParameterServer::State {
  struct Worker {
    std::string model;
    PeerId peer;
  };

  State(Socket given_socket, ParameterServerOptions given)
      : socket(std::move(given_socket)), options(std::move(given)), segments(options.log) {}

  void OnMessage(Message message, std::int64_t now_ns);
  void OnJoin(const PeerId& peer, std::uint64_t sender, const wire::Join& join,
              std::int64_t now_ns);
  void OnPush(const PeerId& peer, std::uint64_t sender, const wire::Push& push,
              std::span<const float> block, std::int64_t now_ns);
  void Send(const PeerId& peer, const wire::Body& body, std::uint64_t sequence,
            std::shared_ptr<const Block> block = nullptr);
  std::span<const float> BlockOf(std::span<const std::byte> bytes);
  void Rest(int timeout_ms);
  void ReceivePushes();
  void SendAnswers();
  void SendAnswer(Shard::Answer answer);
  void SendQueued();
  void Tick(std::int64_t now_ns);
  void ForgetTheSilent();

  Socket socket;
  const ParameterServerOptions options;
  const std::uint64_t incarnation = RandomIdentity();
  SegmentExchange segments;
  WakeSignal signal;
  Poller poller{&signal, segments.wakeup()};
  ModelShards shards{&options};
  std::map<std::uint64_t, Worker> workers;
  std::deque<Message> queued;  ///< to peers whose pipe was full
  AlignedFloats aligned;       ///< a block that came off its border
  const std::shared_ptr<const Block> no_block = std::make_shared<Block>(0);
  std::int64_t ticked_ns = 0, let_go_ns = 0;
};

Result<std::unique_ptr<ParameterServer>> ParameterServer::Open(SocketContext& context,
                                                               ParameterServerOptions options) {
  SocketOptions socket_options;
  socket_options.max_message_bytes = kMaxBlockBytes;
  auto socket = Socket::Open(context, SocketKind::kRouter, socket_options);
  if (!socket.ok()) return socket.status();
  if (Status status = socket->Bind(options.address); !status.ok())
    return Status(status.code(), "shard " + std::to_string(options.shard) + ": " +
                                     status.message() +
                                     " (is a shard with this index running already?)");
  return std::unique_ptr<ParameterServer>(
      new ParameterServer(std::make_unique<State>(std::move(*socket), std::move(options))));
}

ParameterServer::ParameterServer(std::unique_ptr<State> state) : state_(std::move(state)) {}
ParameterServer::~ParameterServer() = default;

Status ParameterServer::Resume(const std::string& model, const std::string& spec,
                               const SavedState& state) {
  return state_->shards.Resume(model, spec, state);
}

void ParameterServer::State::Send(const PeerId& peer, const wire::Body& body,
                                  std::uint64_t sequence, std::shared_ptr<const Block> block) {
  const std::span<const float> floats = block ? block->floats() : std::span<const float>();
  const auto bytes = std::as_bytes(floats);
  const wire::Encoded encoded = wire::Encode(body, incarnation, sequence, bytes.size());
  Message message;
  message.peer = peer;
  message.frames.emplace_back(std::span<const std::byte>(encoded.header));
  message.frames.emplace_back(std::span<const std::byte>(encoded.metadata));
  if (block) message.frames.emplace_back(bytes, [block = std::move(block)] {});
  if (socket.TrySend(message) == SendOutcome::kWouldBlock) queued.push_back(std::move(message));
}

void ParameterServer::State::SendQueued() {
  for (std::size_t i = queued.size(); i > 0; --i) {
    Message message = std::move(queued.front());
    queued.pop_front();
    if (socket.TrySend(message) == SendOutcome::kWouldBlock) queued.push_back(std::move(message));
  }
}

void ParameterServer::State::SendAnswers() {
  for (Shard::Answer& answer : shards.PopAnswers()) SendAnswer(std::move(answer));
}

void ParameterServer::State::SendAnswer(Shard::Answer answer) {
  const auto worker = workers.find(answer.worker);
  if (worker == workers.end()) return;
  const auto way = segments.Answer(answer);
  if (way == SegmentExchange::Delivery::kPlaced) return;
  const bool whole = way == SegmentExchange::Delivery::kMessage;
  Send(worker->second.peer, answer.center, answer.center.step,
       whole ? std::move(answer.block) : no_block);
}

void ParameterServer::State::OnJoin(const PeerId& peer, std::uint64_t sender,
                                    const wire::Join& join, std::int64_t now_ns) {
  auto shard = shards.Make(join.model);
  if (!shard.ok())
    return Send(peer, wire::Error{wire::Refusal::kMeaning, shard.status().message(), 0}, 0);
  auto joined = (*shard)->Join(sender, join, now_ns);
  if (!joined.ok()) {
    if ((*shard)->spec().empty()) {  // there is no such model yet, or any more
      std::erase_if(workers, [&](const auto& w) {
        if (w.second.model != join.model) return false;
        segments.Leave(w.first);
        return true;
      });
      shards.Erase(join.model);
    }
    const bool taken = joined.status().code() == StatusCode::kAlreadyRunning;
    const auto refusal = taken ? wire::Refusal::kBusy : wire::Refusal::kSpaces;
    return Send(peer, wire::Error{refusal, joined.status().message(), 0}, 0);
  }
  joined->segment = segments.Join(sender, join, *shard);
  workers[sender] = {join.model, peer};
  Send(peer, *joined, 0);
}

std::span<const float> ParameterServer::State::BlockOf(std::span<const std::byte> bytes) {
  const std::size_t count = bytes.size() / sizeof(float);
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(float) != 0) {
    if (aligned.size() < count) aligned = AlignedFloats(count);
    std::memcpy(aligned.data(), bytes.data(), bytes.size());
    return {aligned.data(), count};
  }
  return {reinterpret_cast<const float*>(bytes.data()), count};
}

void ParameterServer::State::OnPush(const PeerId& peer, std::uint64_t sender,
                                    const wire::Push& push, std::span<const float> block,
                                    std::int64_t now_ns) {
  const auto worker = workers.find(sender);
  Shard* const shard = worker == workers.end() ? nullptr : shards.Find(worker->second.model);
  if (shard == nullptr)
    return Send(peer, wire::Error{wire::Refusal::kNotRegistered, "join first", push.step}, 0);
  const Status status = shard->OnPush(sender, push, block, now_ns);
  if (status.ok()) return;
  const bool again = status.code() == StatusCode::kUnavailable;
  Send(peer,
       wire::Error{again ? wire::Refusal::kNotRegistered : wire::Refusal::kMeaning,
                   status.message(), push.step},
       0);
}

void ParameterServer::State::ReceivePushes() {
  const int count = segments.ReceivePushes(
      [this](std::uint64_t sender, const wire::Push& push, std::span<const float> block) {
        const auto worker = workers.find(sender);
        if (worker == workers.end()) return;
        if (push.learning_rate >= 0.0 && push.learning_rate <= kLargestRate)
          return OnPush(worker->second.peer, sender, push, block, MonotonicNs());
        Send(worker->second.peer,
             wire::Error{wire::Refusal::kNotFinite,
                         "learning rate: expected a number from 0 to a million", push.step},
             0);
      });
  if (count > 0) SendAnswers();
}

void ParameterServer::State::OnMessage(Message message, std::int64_t now_ns) {
  std::vector<std::span<const std::byte>> frames;
  for (const Frame& frame : message.frames) frames.push_back(frame.bytes());
  auto decoded = wire::Decode(frames);
  if (const auto* failure = std::get_if<wire::DecodeFailure>(&decoded)) {
    if (options.log) options.log(LogLevel::kWarning, "refused a message: " + failure->sentence);
    return Send(message.peer, wire::Error{failure->refusal, failure->sentence, failure->sequence},
                0);
  }
  const auto& [header, body, block] = std::get<wire::Decoded>(decoded);
  if (const auto* join = std::get_if<wire::Join>(&body)) {
    OnJoin(message.peer, header.sender, *join, now_ns);
  } else if (const auto* push = std::get_if<wire::Push>(&body)) {
    if (segments.IsNewest(header.sender, *push))
      OnPush(message.peer, header.sender, *push, BlockOf(block), now_ns);
  } else if (const auto* ask = std::get_if<wire::AskRule>(&body)) {
    Send(message.peer,
         wire::ShardRule{options.settings(ask->model).ToText(),
                         static_cast<std::uint32_t>(options.shard),
                         static_cast<std::uint32_t>(options.shards)},
         header.sequence);
  } else if (const auto worker = workers.find(header.sender); worker == workers.end()) {
    return;  // ALIVE or BYE of one that has not joined
  } else if (const auto* alive = std::get_if<wire::Alive>(&body)) {
    shards.Find(worker->second.model)->OnAlive(header.sender, alive->waiting, now_ns);
  } else if (std::holds_alternative<wire::Bye>(body)) {
    segments.Leave(header.sender);
    shards.Find(worker->second.model)->OnBye(header.sender, now_ns);
    if (options.save_every_ns > 0)  // what it pushed is with no one else
      shards.Save(worker->second.model, now_ns);
    workers.erase(worker);
  } else {
    Send(message.peer,
         wire::Error{wire::Refusal::kUnknownType,
                     "this is a shard of a parameter server, which only learners talk to; connect "
                     "actors to a learner",
                     header.sequence},
         0);
  }
}

void ParameterServer::State::ForgetTheSilent() {
  std::erase_if(workers, [this](const auto& entry) {
    const auto& [id, worker] = entry;
    return !segments.Maps(id) && !shards.Find(worker.model)->IsMember(id);
  });
}

void ParameterServer::State::Tick(std::int64_t now_ns) {
  if (now_ns - ticked_ns < kTickEveryNs) return;
  ticked_ns = now_ns;
  shards.Tick(now_ns);
  SendAnswers();
  shards.Say(now_ns);
  if (now_ns - let_go_ns >= kLetGoEveryNs) {
    let_go_ns = now_ns;
    segments.LetGoOfTheDead();
  }
  ForgetTheSilent();
}

void ParameterServer::State::Rest(int timeout_ms) {
  const bool nothing_new = segments.GoesToSleep();
  Socket* const sockets[] = {&socket};
  const int most_ms = !nothing_new ? 0 : queued.empty() ? 100 : 1;
  (void)poller.Wait(sockets, std::min(timeout_ms, most_ms));
  segments.WakesUp();
}

void ParameterServer::PollOnce(int timeout_ms) {
  State& s = *state_;
  s.Rest(timeout_ms);
  s.ReceivePushes();
  s.SendQueued();
  Message message;
  for (int i = 0; i < kMessagesPerRound && s.socket.TryReceive(&message); ++i) {
    s.OnMessage(std::move(message), MonotonicNs());
    s.SendAnswers();
    s.ReceivePushes();
  }
  if (s.shards.ReceiveKept()) s.SendAnswers();
  s.Tick(MonotonicNs());
}

void ParameterServer::Wake() { state_->signal.Set(); }

void ParameterServer::PostKept(const std::string& model, std::shared_ptr<const SavedState> state) {
  state_->shards.PostKept(model, std::move(state));
  state_->signal.Set();
}

void ParameterServer::SaveAll() { state_->shards.SaveAll(MonotonicNs()); }

std::string ParameterServer::BoundAddress() const { return state_->socket.BoundAddress(); }

std::vector<ShardView> ParameterServer::Views() const { return state_->shards.Views(); }

std::string ParameterServer::Report() const {
  std::string report;
  state_->shards.Look();
  for (const ShardView& view : Views()) {
    report += view.model + ": version " + std::to_string(view.version) + ", " +
              std::to_string(view.workers) + " workers\n";
    if (!view.waits.empty()) report += view.waits + '\n';
  }
  return report;
}

const Shard* ParameterServer::Find(const std::string& model) const {
  return state_->shards.Find(model);
}

}  // namespace murmurate
