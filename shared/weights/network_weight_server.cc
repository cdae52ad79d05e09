#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

#include "shared/core/check.h"
#include "shared/core/clock.h"
#include "shared/model/parameter_layout.h"
#include "shared/weights/network_weights.h"
#include "shared/weights/payload_hash.h"
#include "shared/weights/weight_transfers.h"
#include "shared/wire/messages.h"

namespace murmurate {
namespace {

constexpr int kMessagesPerRound = 64;
constexpr int kChunksPerRound = 32;
constexpr std::int64_t kAnnounceEveryNs = kNanosecondsPerSecond;

struct Model {
  ModelKey key;
  std::string name;
  ParameterLayout layout;
  PayloadPointer newest;
};

std::span<const std::byte> BytesOf(const PublishedPayload& payload, std::size_t offset) {
  const std::span<const std::byte> all = payload.bytes();
  return all.subspan(offset, std::min(wire::kChunkBytes, all.size() - offset));
}

}  // namespace

struct NetworkWeightServer::State {
  State(Socket announce_socket, Socket weights_socket, std::uint64_t learner)
      : announce(std::move(announce_socket)),
        weights(std::move(weights_socket)),
        incarnation(learner) {}

  Socket announce, weights;
  const std::uint64_t incarnation;
  std::mutex mutex;  // of the list only: a Model itself belongs to the server's thread
  std::vector<std::unique_ptr<Model>> models;
  WeightTransfers transfers;
  std::optional<WeightTransfers::Key> last_served;
  std::int64_t next_announcement_ns = 0;

  Model* Find(const ModelKey& key) {
    // guard: Server.ModelsAreAddedFromAnotherThreadWhileItPublishes (tsan): the list of models has
    //   a mutex
    std::lock_guard lock(mutex);
    const auto found = std::find_if(models.begin(), models.end(),
                                    [&](const auto& model) { return model->key == key; });
    return found == models.end() ? nullptr : found->get();
  }
  void Publish(const ModelKey& key, const Snapshot& snapshot);
  void Announce(const ModelKey& key, const PublishedPayload& payload);
  void AnnounceAll(std::int64_t now_ns);
  void Refuse(const PeerId& peer, wire::Refusal refusal, std::string sentence);
  void OnMessage(const Message& message, const BeforePull& before_pull);
  void OnPull(const PeerId& peer, const wire::Pull& pull, const BeforePull& before_pull);
  bool SendChunks();
  SendOutcome SendChunk(const PeerId& peer, const ModelKey& model,
                        const WeightTransfers::Transfer& transfer);
};

namespace {

class NetworkWeightPublisher : public WeightPublisher {
 public:
  explicit NetworkWeightPublisher(std::function<void(const Snapshot&)> publish)
      : publish_(std::move(publish)) {}
  Status Publish(const Snapshot& snapshot) override {
    publish_(snapshot);
    return Status();
  }

 private:
  std::function<void(const Snapshot&)> publish_;
};

}  // namespace

void NetworkWeightServer::State::Publish(const ModelKey& key, const Snapshot& snapshot) {
  Model* const model = Find(key);
  auto made = std::make_shared<PublishedPayload>();
  made->version = snapshot.version;
  made->payload = AlignedFloats(PayloadBytes(model->layout) / sizeof(float));
  WritePayload(model->layout, snapshot, std::as_writable_bytes(std::span<float>(made->payload)));
  made->hash = PayloadHash(made->bytes());
  model->newest = made;
  transfers.OnPublished(key, model->newest);
  Announce(key, *made);
}

void NetworkWeightServer::State::Announce(const ModelKey& key, const PublishedPayload& payload) {
  Message message;
  message.frames.emplace_back(std::span<const std::byte>(wire::EncodeAnnouncement(
      {key, incarnation, payload.version, payload.bytes().size(), payload.hash})));
  [[maybe_unused]] const SendOutcome lost_is_fine = announce.TrySend(message);  // said again soon
}

void NetworkWeightServer::State::AnnounceAll(std::int64_t now_ns) {
  if (now_ns < next_announcement_ns) return;
  // guard: Server.AnnouncementsAloneAreEnoughForALateJoiner: versions are announced again and again
  next_announcement_ns = now_ns + kAnnounceEveryNs;
  std::lock_guard lock(mutex);
  for (const auto& model : models) {
    if (model->newest) Announce(model->key, *model->newest);
  }
  transfers.Expire(now_ns);
}

void NetworkWeightServer::State::Refuse(const PeerId& peer, wire::Refusal refusal,
                                        std::string sentence) {
  const wire::Encoded encoded =
      wire::Encode(wire::Error{refusal, std::move(sentence), 0}, incarnation, 0);
  Message message;
  message.peer = peer;
  message.frames.emplace_back(std::span<const std::byte>(encoded.header));
  message.frames.emplace_back(std::span<const std::byte>(encoded.metadata));
  [[maybe_unused]] const SendOutcome lost_is_fine = weights.TrySend(message);
}

void NetworkWeightServer::State::OnMessage(const Message& message, const BeforePull& before_pull) {
  std::vector<std::span<const std::byte>> frames;
  for (const Frame& frame : message.frames) frames.push_back(frame.bytes());
  const auto decoded = wire::Decode(frames);
  if (const auto* failure = std::get_if<wire::DecodeFailure>(&decoded)) {
    return Refuse(message.peer, failure->refusal, failure->sentence);
  }
  const auto* pull = std::get_if<wire::Pull>(&std::get<wire::Decoded>(decoded).body);
  if (pull == nullptr) {
    return Refuse(message.peer, wire::Refusal::kUnknownType,
                  "the weights socket answers PULL only: send this to the main socket");
  }
  OnPull(message.peer, *pull, before_pull);
}

void NetworkWeightServer::State::OnPull(const PeerId& peer, const wire::Pull& pull,
                                        const BeforePull& before_pull) {
  Model* const model = Find(pull.model);
  if (model == nullptr) {
    return Refuse(peer, wire::Refusal::kMeaning,
                  "PULL for a model this learner does not have: send HELLO first");
  }
  if (pull.version == 0 && before_pull) before_pull(model->name);
  if (!model->newest) return;  // nothing yet: the announcement of the first version will call again
  std::string wrong = transfers.OnPull(peer, pull, model->newest, MonotonicNs());
  if (!wrong.empty()) Refuse(peer, wire::Refusal::kMeaning, std::move(wrong));
}

SendOutcome NetworkWeightServer::State::SendChunk(const PeerId& peer, const ModelKey& model,
                                                  const WeightTransfers::Transfer& transfer) {
  const PayloadPointer payload = transfer.payload;
  const std::span<const std::byte> block = BytesOf(*payload, transfer.next);
  const wire::Encoded encoded =
      wire::Encode(wire::Chunk{model, incarnation, payload->version, payload->bytes().size(),
                               transfer.next, payload->hash},
                   incarnation, 0, block.size());
  Message message;
  message.peer = peer;
  message.frames.emplace_back(std::span<const std::byte>(encoded.header));
  message.frames.emplace_back(std::span<const std::byte>(encoded.metadata));
  message.frames.emplace_back(block, [payload] {});  // libzmq holds the payload until it is sent
  return weights.TrySend(message);
}

/// False when a receiver's queue was full: its transfer stays where it is, and waits its turn.
bool NetworkWeightServer::State::SendChunks() {
  bool all_free = true;
  for (int i = 0; i < kChunksPerRound; ++i) {
    auto* const entry = transfers.NextSendable(last_served);
    if (entry == nullptr) return all_free;
    last_served = entry->first;
    const auto& [peer, model] = entry->first;
    switch (SendChunk(peer, model, entry->second)) {
      case SendOutcome::kSent:
        entry->second.next += wire::kChunkBytes;
        if (entry->second.finished()) transfers.Erase(*last_served);
        break;
      case SendOutcome::kWouldBlock:
        all_free = false;
        break;
      case SendOutcome::kNoPeer:
        transfers.Erase(*last_served);
        break;
    }
  }
  return all_free;
}

Result<std::unique_ptr<NetworkWeightServer>> NetworkWeightServer::Open(
    SocketContext& context, const std::string& announce_address, const std::string& weights_address,
    std::uint64_t incarnation) {
  SocketOptions options;
  options.high_water_mark = 16;
  Result<Socket> announce = Socket::Open(context, SocketKind::kPublisher, options);
  if (!announce.ok()) return announce.status();
  Result<Socket> weights = Socket::Open(context, SocketKind::kRouter, options);
  if (!weights.ok()) return weights.status();
  MURMURATE_RETURN_IF_ERROR(announce->Bind(announce_address));
  MURMURATE_RETURN_IF_ERROR(weights->Bind(weights_address));
  auto state = std::make_unique<State>(*std::move(announce), *std::move(weights), incarnation);
  return std::unique_ptr<NetworkWeightServer>(new NetworkWeightServer(std::move(state)));
}

NetworkWeightServer::NetworkWeightServer(std::unique_ptr<State> state) : state_(std::move(state)) {}
NetworkWeightServer::~NetworkWeightServer() = default;

std::unique_ptr<WeightPublisher> NetworkWeightServer::AddModel(const std::string& name,
                                                               const ModelSpec& spec) {
  const ModelKey key = wire::ModelId(name);
  MURMURATE_CHECK(state_->Find(key) == nullptr, "a model is added once");
  {
    std::lock_guard lock(state_->mutex);
    state_->models.push_back(
        std::make_unique<Model>(Model{key, name, ParameterLayout(spec), nullptr}));
  }
  return std::make_unique<NetworkWeightPublisher>(
      [state = state_.get(), key](const Snapshot& snapshot) { state->Publish(key, snapshot); });
}

void NetworkWeightServer::PollOnce(int timeout_ms, const WakeSignal* signal,
                                   const BeforePull& before_pull) {
  const bool all_free = state_->SendChunks();
  if (state_->transfers.any_sendable()) timeout_ms = std::min(timeout_ms, all_free ? 0 : 1);
  Socket* const weights = &state_->weights;
  Poller(signal).Wait(std::span(&weights, 1), timeout_ms);
  Message message;
  for (int i = 0; i < kMessagesPerRound && weights->TryReceive(&message); ++i) {
    state_->OnMessage(message, before_pull);
  }
  state_->SendChunks();
  state_->AnnounceAll(MonotonicNs());
}

std::string NetworkWeightServer::announce_address() const {
  return state_->announce.BoundAddress();
}
std::string NetworkWeightServer::weights_address() const { return state_->weights.BoundAddress(); }

}  // namespace murmurate
