#include <algorithm>
#include <map>
#include <utility>

#include "shared/core/check.h"
#include "shared/core/clock.h"
#include "shared/weights/network_subscriber.h"
#include "shared/weights/network_weights.h"
#include "shared/weights/weight_assembly.h"
#include "shared/weights/weight_transfers.h"
#include "shared/wire/messages.h"

namespace murmurate {
namespace {

constexpr int kMessagesPerRound = 64;
constexpr std::uint32_t kCredit = 10;  // chunks
constexpr std::size_t kTopUpBytes = kCredit / 2 * wire::kChunkBytes;
constexpr std::int64_t kSilentNs = kNanosecondsPerSecond;
constexpr std::int64_t kNotYetNs = 20 * kNanosecondsPerMillisecond;

struct Model {
  Model(const ModelSpec& model, const std::function<void()>& on_room)
      : spec(model),
        subscriber(std::make_shared<NetworkSubscriber>(model, on_room)),
        assembly(model) {}

  ModelSpec spec;
  std::shared_ptr<NetworkSubscriber> subscriber;
  WeightAssembly assembly;
  std::optional<Socket> announce;
  std::uint64_t newest = 0, have = 0;  // versions of this incarnation
  bool pulling = false;
  std::size_t window_end = 0;
  std::int64_t last_chunk_ns = 0, not_before_ns = 0;
};

}  // namespace

struct NetworkWeightFetcher::State {
  State(SocketContext& sockets, std::uint64_t client, std::function<void()> waker)
      : context(sockets), sender(client), wake(std::move(waker)) {}

  SocketContext& context;
  const std::uint64_t sender;
  const std::function<void()> wake;
  std::string announce_address, weights_address;
  std::uint64_t incarnation = 0;
  std::optional<Socket> weights;
  std::map<ModelKey, Model> models;
  std::uint64_t refused = 0;

  Status Subscribe(const ModelKey& key, Model* model);
  bool SendPull(const ModelKey& key, std::uint64_t version, std::size_t offset);
  void HearAnnouncements(const ModelKey& key, Model& model);
  void OnMessage(Message message, std::int64_t now_ns);
  void OnChunk(const wire::Chunk& chunk, Frame block, std::int64_t now_ns);
  void LookBack(Model& model, std::int64_t now_ns);
  void TopUp(const ModelKey& key, Model& model, std::int64_t now_ns);
  void Pull(const ModelKey& key, Model& model, std::int64_t now_ns);
};

Status NetworkWeightFetcher::State::Subscribe(const ModelKey& key, Model* model) {
  SocketOptions options;
  options.max_message_bytes = 256;
  options.conflate = true;
  options.subscription.assign(key.begin(), key.end());
  Result<Socket> socket = Socket::Open(context, SocketKind::kSubscriber, options);
  if (!socket.ok()) return socket.status();
  MURMURATE_RETURN_IF_ERROR(socket->Connect(announce_address));
  model->announce.emplace(*std::move(socket));
  return Status();
}

bool NetworkWeightFetcher::State::SendPull(const ModelKey& key, std::uint64_t version,
                                           std::size_t offset) {
  const wire::Encoded encoded = wire::Encode(wire::Pull{key, version, offset, kCredit}, sender, 0);
  Message message;
  message.frames.emplace_back(std::span<const std::byte>(encoded.header));
  message.frames.emplace_back(std::span<const std::byte>(encoded.metadata));
  return weights->TrySend(message) == SendOutcome::kSent;
}

void NetworkWeightFetcher::State::HearAnnouncements(const ModelKey& key, Model& model) {
  Message message;
  for (int i = 0; i < 4 && model.announce && model.announce->TryReceive(&message); ++i) {
    wire::Announcement announcement;
    if (message.frames.size() != 1 ||
        !wire::DecodeAnnouncement(message.frames[0].bytes(), &announcement).ok() ||
        announcement.model != key) {
      ++refused;
    } else if (announcement.incarnation == incarnation) {
      model.newest = std::max(model.newest, announcement.version);
    }
  }
}

void NetworkWeightFetcher::State::OnMessage(Message message, std::int64_t now_ns) {
  std::vector<std::span<const std::byte>> frames;
  for (const Frame& frame : message.frames) frames.push_back(frame.bytes());
  const auto decoded = wire::Decode(frames);
  const auto* good = std::get_if<wire::Decoded>(&decoded);
  const auto* chunk = good ? std::get_if<wire::Chunk>(&good->body) : nullptr;
  if (chunk == nullptr) {
    ++refused;
    return;
  }
  OnChunk(*chunk, std::move(message.frames.back()), now_ns);  // the block, as it lies
}

void NetworkWeightFetcher::State::OnChunk(const wire::Chunk& chunk, Frame block,
                                          std::int64_t now_ns) {
  const auto found = models.find(chunk.model);
  // guard: Fetcher.ChunksOfAnotherIncarnationAreRefused: chunks of another incarnation are refused
  if (found == models.end() || chunk.incarnation != incarnation) {
    ++refused;
    return;
  }
  Model& model = found->second;
  const WeightAssembly::Outcome outcome =
      model.assembly.Add(chunk, block.bytes().size(), model.have);
  WeightPiece piece{{chunk.incarnation, chunk.version},
                    chunk.hash,
                    chunk.offset == 0,
                    outcome == WeightAssembly::Outcome::kLast,
                    std::move(block)};
  switch (outcome) {
    case WeightAssembly::Outcome::kNext:
      model.last_chunk_ns = now_ns;
      model.subscriber->Deliver(std::move(piece));
      TopUp(found->first, model, now_ns);
      break;
    case WeightAssembly::Outcome::kLast:
      model.have = chunk.version;
      model.newest = std::max(model.newest, model.have);
      model.pulling = false;
      model.subscriber->Deliver(std::move(piece));
      break;
    case WeightAssembly::Outcome::kOld:
      if (!model.pulling || model.assembly.version() != 0) break;
      model.pulling = false;
      // guard: Fetcher.LearnerThatStillHasTheOldVersionIsAskedAgainSoon: a learner that has not
      //   published yet is asked again
      model.not_before_ns = now_ns + kNotYetNs;
      break;
    case WeightAssembly::Outcome::kRefused:
      ++refused;
      break;
  }
}

/// Moves the window of a version in transfer on, when half of it has come and been taken.
void NetworkWeightFetcher::State::TopUp(const ModelKey& key, Model& model, std::int64_t now_ns) {
  const WeightAssembly& assembly = model.assembly;
  if (!model.pulling || assembly.version() == 0 || model.window_end >= assembly.total() ||
      model.window_end >= assembly.received() + kTopUpBytes + 1) {
    return;
  }
  if (!model.subscriber->MayAskForMore()) {
    model.last_chunk_ns = now_ns;  // the silence is ours
  } else if (SendPull(key, assembly.version(), assembly.received())) {
    model.window_end = assembly.received() + kCredit * wire::kChunkBytes;
  }
}

/// Deals with what the reader found: a damaged version is fetched again, but not at once: its
/// learner may have nothing better.
void NetworkWeightFetcher::State::LookBack(Model& model, std::int64_t now_ns) {
  if (model.subscriber->PopLost()) model.have = 0;
  const std::uint64_t damaged = model.subscriber->PopDamaged();
  if (damaged == 0) return;
  refused += damaged;
  model.have = 0;
  model.not_before_ns = now_ns + kSilentNs;
}

void NetworkWeightFetcher::State::Pull(const ModelKey& key, Model& model, std::int64_t now_ns) {
  LookBack(model, now_ns);
  TopUp(key, model, now_ns);
  // guard: Fetcher.SilentTransferIsRetriedAfterASecondAndNotBefore: a silent transfer is retried, a
  //   live one is not asked for twice
  if (model.pulling && now_ns - model.last_chunk_ns >= kSilentNs) model.pulling = false;
  if (model.pulling || model.newest <= model.have || now_ns < model.not_before_ns) return;
  if (!model.subscriber->MayAskForMore()) return;
  model.assembly.Abort();
  if (!SendPull(key, 0, 0)) return;  // not connected: the next round tries again
  model.pulling = true;
  model.last_chunk_ns = now_ns;
  model.window_end = kCredit * wire::kChunkBytes;
}

NetworkWeightFetcher::NetworkWeightFetcher(SocketContext& context, std::uint64_t sender,
                                           std::function<void()> wake)
    : state_(std::make_unique<State>(context, sender, std::move(wake))) {}

NetworkWeightFetcher::~NetworkWeightFetcher() {
  for (auto& [key, model] : state_->models) model.subscriber->Close();
}

Status NetworkWeightFetcher::Connect(const std::string& announce_address,
                                     const std::string& weights_address,
                                     std::uint64_t incarnation) {
  State& state = *state_;
  if (state.weights && announce_address == state.announce_address &&
      weights_address == state.weights_address && incarnation == state.incarnation) {
    return Status();
  }
  state.weights.reset();
  SocketOptions options;
  options.max_message_bytes = wire::kChunkBytes + wire::kMaxMetadataBytes;
  Result<Socket> weights = Socket::Open(state.context, SocketKind::kDealer, options);
  if (!weights.ok()) return weights.status();
  MURMURATE_RETURN_IF_ERROR(weights->Connect(weights_address));
  state.announce_address = announce_address;
  state.weights_address = weights_address;
  const bool same_learner = incarnation == state.incarnation;
  state.incarnation = incarnation;
  for (auto& [key, model] : state.models) {
    model.assembly.Abort();
    model.pulling = false;
    model.not_before_ns = 0;
    // guard: Fetcher.NewIncarnationForgetsTheOldVersions: versions of another incarnation are
    //   forgotten
    if (!same_learner) model.newest = model.have = 0;
    MURMURATE_RETURN_IF_ERROR(state.Subscribe(key, &model));
  }
  state.weights.emplace(*std::move(weights));
  return Status();
}

void NetworkWeightFetcher::Disconnect() {
  state_->weights.reset();
  for (auto& [key, model] : state_->models) model.announce.reset();
}

std::shared_ptr<WeightSubscriber> NetworkWeightFetcher::AddModel(const std::string& name,
                                                                 const ModelSpec& spec) {
  const ModelKey key = wire::ModelId(name);
  const auto found = state_->models.find(key);
  if (found != state_->models.end() && found->second.spec == spec) return found->second.subscriber;
  RemoveModel(name);
  Model& model = state_->models.try_emplace(key, spec, state_->wake).first->second;
  // Without announcements (no descriptor left) versions still come by NoteVersion.
  if (state_->weights && !state_->Subscribe(key, &model).ok()) model.announce.reset();
  return model.subscriber;
}

void NetworkWeightFetcher::RemoveModel(const std::string& name) {
  const auto found = state_->models.find(wire::ModelId(name));
  if (found == state_->models.end()) return;
  found->second.subscriber->Close();
  state_->models.erase(found);
}

void NetworkWeightFetcher::NoteVersion(const std::string& name, std::uint64_t version) {
  const auto found = state_->models.find(wire::ModelId(name));
  if (found == state_->models.end()) return;
  found->second.newest = std::max(found->second.newest, version);
}

std::vector<Socket*> NetworkWeightFetcher::sockets() {
  std::vector<Socket*> all;
  if (state_->weights) all.push_back(&*state_->weights);
  for (auto& [key, model] : state_->models) {
    if (model.announce) all.push_back(&*model.announce);
  }
  return all;
}

void NetworkWeightFetcher::PollOnce(std::int64_t now_ns) {
  if (!state_->weights) return;
  for (auto& [key, model] : state_->models) state_->HearAnnouncements(key, model);
  Message message;
  for (int i = 0; i < kMessagesPerRound && state_->weights->TryReceive(&message); ++i) {
    state_->OnMessage(std::move(message), now_ns);
  }
  for (auto& [key, model] : state_->models) state_->Pull(key, model, now_ns);
}

std::uint64_t NetworkWeightFetcher::refused() const { return state_->refused; }

}  // namespace murmurate
