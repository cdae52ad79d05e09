#include "server/operate/admin.h"

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "shared/core/check.h"
#include "shared/core/clock.h"
#include "shared/core/random.h"
#include "shared/wire/messages.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;

std::variant<wire::Decoded, wire::DecodeFailure> DecodeMessage(const Message& message) {
  std::vector<std::span<const std::byte>> frames;
  for (const Frame& frame : message.frames) frames.push_back(frame.bytes());
  return wire::Decode(frames);
}

Message EncodeMessage(const PeerId& peer, const wire::Body& body, std::uint64_t sender) {
  const wire::Encoded encoded = wire::Encode(body, sender, 0);
  Message message;
  message.peer = peer;
  message.frames.emplace_back(std::span<const std::byte>(encoded.header));
  message.frames.emplace_back(std::span<const std::byte>(encoded.metadata));
  return message;
}

constexpr std::size_t kPieceBytes = wire::kMaxReport - 1;  // and its sign
constexpr std::size_t kMaxAnswerBytes = 16u << 20;

Status NoAnswer(const std::string& address) {
  return Unavailable(address +
                     ": no learner answers; it may just have stopped: see `murmurate status`");
}

}  // namespace

Result<AdminServer> AdminServer::Open(SocketContext& context, const std::string& address,
                                      Answer answer) {
  auto socket = Socket::Open(context, SocketKind::kRouter);
  if (!socket.ok()) return socket.status();
  if (Status status = socket->Bind(address); !status.ok()) return status;
  return AdminServer(std::move(*socket), std::move(answer));
}

void AdminServer::PollOnce() {
  Message message;
  for (int i = 0; i < 16 && socket_.TryReceive(&message); ++i) {
    const auto decoded = DecodeMessage(message);
    const auto* question = std::get_if<wire::Decoded>(&decoded);
    const auto* admin = question ? std::get_if<wire::Admin>(&question->body) : nullptr;
    const wire::AdminOk answer =
        admin ? AnswerTo(message.peer, *admin)
              : wire::AdminOk{false,
                              "this socket answers ADMIN messages only: use `murmurate status`"};
    Message reply = EncodeMessage(message.peer, answer, 0);
    (void)socket_.TrySend(reply);  // an asker that is gone or full asks again
  }
}

wire::AdminOk AdminServer::AnswerTo(const PeerId& peer, const wire::Admin& admin) {
  if (admin.command != "more") {
    wire::AdminOk whole = answer_(admin.command);
    if (!whole.ok) return whole;
    if (rest_.size() >= 16) rest_.clear();
    rest_[peer] = std::move(whole.text);
  }
  return NextPiece(peer);
}

wire::AdminOk AdminServer::NextPiece(const PeerId& peer) {
  const auto found = rest_.find(peer);
  if (found == rest_.end()) return {false, "there is no more of that answer: ask again"};
  wire::AdminOk piece{true, '+' + found->second.substr(0, kPieceBytes)};
  found->second.erase(0, kPieceBytes);
  if (found->second.empty()) {
    piece.text[0] = '.';
    rest_.erase(found);
  }
  return piece;
}

namespace {

/// One question and its answer, whole messages; nothing when `deadline` passes first.
std::optional<Message> Exchange(Socket& socket, const std::string& command, std::int64_t deadline) {
  const WakeSignal never;
  Poller poller(&never);
  Socket* const sockets[] = {&socket};
  bool sent = false;
  Message reply;
  while (MonotonicNs() < deadline) {
    if (!sent) {
      Message question = EncodeMessage({}, wire::Admin{command}, RandomIdentity());
      sent = socket.TrySend(question) == SendOutcome::kSent;
    }
    poller.Wait(sockets, sent ? 20 : 1);
    if (socket.TryReceive(&reply)) return reply;
  }
  return std::nullopt;
}

}  // namespace

Result<std::string> AskAdmin(const std::string& address, const std::string& command,
                             int timeout_ms) {
  SocketContext context;
  auto socket = Socket::Open(context, SocketKind::kDealer);
  if (!socket.ok()) return socket.status();
  MURMURATE_RETURN_IF_ERROR(socket->Connect(address));
  const std::int64_t deadline = MonotonicNs() + timeout_ms * kNanosecondsPerMillisecond;
  std::string whole;
  for (std::string ask = command; whole.size() < kMaxAnswerBytes; ask = "more") {
    const auto reply = Exchange(*socket, ask, deadline);
    if (!reply) return NoAnswer(address);
    const auto decoded = DecodeMessage(*reply);
    const auto* answer = std::get_if<wire::Decoded>(&decoded);
    const auto* ok = answer ? std::get_if<wire::AdminOk>(&answer->body) : nullptr;
    if (ok != nullptr && !ok->ok) return InvalidArgument(ok->text);
    if (ok == nullptr || ok->text.empty()) break;
    whole.append(ok->text, 1);
    if (ok->text[0] == '.') return whole;
  }
  return InvalidData(address +
                     ": answered with something else than ADMIN_OK; is it a murmurate learner?");
}

std::vector<std::string> OtherAdminAddresses(const std::string& runtime_folder,
                                             const char* socket) {
  std::vector<std::pair<long, std::string>> found;
  std::string folder = runtime_folder;
  while (!folder.empty() && folder.back() == '/') folder.pop_back();
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(fs::path(folder).parent_path(), error)) {
    const long pid = std::atol(entry.path().filename().c_str());
    const fs::path place = entry.path() / socket;
    if (pid <= 0 || (kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH)) continue;
    if (fs::exists(place, error)) found.emplace_back(pid, "ipc://" + place.string());
  }
  std::sort(found.begin(), found.end());
  std::vector<std::string> addresses;
  for (auto& [pid, address] : found) addresses.push_back(std::move(address));
  return addresses;
}

std::vector<std::string> LiveAdminAddresses(const char* socket) {
  const auto own = RuntimeFolder();
  if (!own.ok()) return {};
  auto addresses = OtherAdminAddresses(*own, socket);
  RemoveRuntimeFolder();
  return addresses;
}

}  // namespace murmurate
