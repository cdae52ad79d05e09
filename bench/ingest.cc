// Ingest: trajectories of 16 KiB and 256 KiB from one actor, verified and copied to their columns.
//
//   limit   raw libzmq: DEALER -> ROUTER over ipc, the same three frames of the same sizes from the
//   same
//           ring of blocks without a copy, received and thrown away
//   ours    ClientSession -> Ingest: the same frames, decoded, checked, copied into batches that a
//           learner without any work gives back at once
//
// Each has its own libzmq context for the sender, in a thread. Rounds alternate; the line shows
// medians.
//   build/release/bench/bench_ingest [rounds]
#include "server/ingest/ingest.h"

#include <zmq.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "server/measure/limits.h"
#include "shared/core/aligned_floats.h"
#include "shared/core/check.h"
#include "shared/core/clock.h"
#include "shared/model/policy_and_value.h"
#include "shared/wire/client_session.h"

namespace murmurate {
namespace {

constexpr int kLength = 128;
constexpr int kRingBlocks = 64;
constexpr double kTarget = 0.70;
constexpr std::int64_t kWarmNs = 100 * kNanosecondsPerMillisecond;
constexpr std::int64_t kRunNs = 300 * kNanosecondsPerMillisecond;

struct Shape {
  const char* name;
  int width;               ///< floats an observation
  int batch_trajectories;  ///< two batches may be on their way
};
constexpr Shape kShapes[] = {{"16 KiB", 28, 128}, {"256 KiB", 504, 16}};

Spaces SpacesOf(const Shape& shape) { return {Box({shape.width}), Discrete(4)}; }

/// A ring of filled blocks, as an agent leaves them, and the metadata that describes each.
struct Ring {
  explicit Ring(const Shape& shape) : layout(SpacesOf(shape), kLength) {
    for (const Column column : {Column::kObservation, Column::kAction, Column::kLogProb,
                                Column::kReward, Column::kFlags, Column::kNextObservation}) {
      columns[static_cast<int>(column)] = layout.column(column);
    }
    const ColumnRange& last = layout.column(Column::kNextObservation);
    block_bytes = (last.offset + last.bytes + 63) / 64 * 64;
    floats = AlignedFloats(block_bytes / sizeof(float) * kRingBlocks);
    const std::size_t observations = layout.column(Column::kObservation).bytes / sizeof(float);
    for (int b = 0; b < kRingBlocks; ++b) {
      float* block = floats.data() + static_cast<std::size_t>(b) * block_bytes / sizeof(float);
      for (std::size_t i = 0; i < observations; ++i) block[i] = 0.25f * static_cast<float>(i % 7);
    }
  }

  std::span<const std::byte> block(std::uint64_t number) const {
    const std::byte* begin = reinterpret_cast<const std::byte*>(floats.data());
    return {begin + (number % kRingBlocks) * block_bytes, block_bytes};
  }
  wire::Experience Metadata(std::uint64_t number, std::uint64_t incarnation) const {
    wire::Experience experience;
    experience.incarnation = incarnation;
    experience.version = 1;
    experience.first_step = number * kLength;
    experience.steps = kLength;
    experience.agent_steps = (number + 1) * kLength;
    experience.columns = columns;
    return experience;
  }

  const TrajectoryLayout layout;
  std::array<ColumnRange, kColumnCount> columns{};
  std::size_t block_bytes = 0;
  AlignedFloats floats;
};

/// This thread, and all that it starts, on one core of those we may use.
void StayOn(int place) {
  static const cpu_set_t allowed = [] {
    cpu_set_t set;
    sched_getaffinity(0, sizeof set, &set);
    return set;
  }();
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &allowed) || place-- > 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    sched_setaffinity(0, sizeof one, &one);
    return;
  }
}

std::string Address(const char* name) {
  Result<std::string> folder = RuntimeFolder();
  MURMURATE_CHECK(folder.ok(), folder.status().message().c_str());
  return "ipc://" + *folder + "/" + name;
}

/// Bytes of blocks per second that `receive` (returns blocks received in one short go) takes in.
template <typename Receive>
double Rate(std::size_t block_bytes, Receive receive) {
  const std::int64_t start = MonotonicNs();
  while (MonotonicNs() < start + kWarmNs) receive();
  const std::int64_t begin = MonotonicNs();
  std::uint64_t blocks = 0;
  std::int64_t now = begin;
  for (; now < begin + kRunNs; now = MonotonicNs()) blocks += receive();
  return static_cast<double>(blocks * block_bytes) / (static_cast<double>(now - begin) * 1e-9);
}

void SetRaw(void* socket, int option, int value) {
  MURMURATE_CHECK(zmq_setsockopt(socket, option, &value, sizeof value) == 0, "zmq_setsockopt");
}

bool SendRawFrame(void* socket, const void* data, std::size_t size, bool copy, int flags) {
  zmq_msg_t message;
  if (copy) {
    zmq_msg_init_size(&message, size);
    std::copy_n(static_cast<const std::byte*>(data), size,
                static_cast<std::byte*>(zmq_msg_data(&message)));
  } else {
    zmq_msg_init_data(
        &message, const_cast<void*>(data), size, [](void*, void*) {}, nullptr);
  }
  if (zmq_msg_send(&message, socket, flags) >= 0) return true;
  zmq_msg_close(&message);
  return false;
}

void SendRaw(const Ring& ring, const std::string& address, const std::atomic<bool>& stop) {
  StayOn(0);
  void* context = zmq_ctx_new();
  void* dealer = zmq_socket(context, ZMQ_DEALER);
  SetRaw(dealer, ZMQ_SNDHWM, 64);
  SetRaw(dealer, ZMQ_SNDTIMEO, 100);
  SetRaw(dealer, ZMQ_LINGER, 0);
  MURMURATE_CHECK(zmq_connect(dealer, address.c_str()) == 0, "zmq_connect");
  for (std::uint64_t number = 0; !stop; ++number) {
    const wire::Encoded encoded =
        wire::Encode(ring.Metadata(number, 1), 1, number, ring.block_bytes);
    if (!SendRawFrame(dealer, encoded.header.data(), encoded.header.size(), true, ZMQ_SNDMORE)) {
      continue;  // 100 ms without room
    }
    SendRawFrame(dealer, encoded.metadata.data(), encoded.metadata.size(), true, ZMQ_SNDMORE);
    SendRawFrame(dealer, ring.block(number).data(), ring.block_bytes, false, 0);
  }
  zmq_close(dealer);
  zmq_ctx_term(context);
}

double RawRate(const Ring& ring) {
  const std::string address = Address("bench-raw");
  void* context = zmq_ctx_new();
  void* router = zmq_socket(context, ZMQ_ROUTER);
  SetRaw(router, ZMQ_RCVHWM, 64);
  SetRaw(router, ZMQ_RCVTIMEO, 100);
  MURMURATE_CHECK(zmq_bind(router, address.c_str()) == 0, "zmq_bind");
  std::atomic<bool> stop{false}, gone{false};
  std::thread sender([&] {
    SendRaw(ring, address, stop);
    gone = true;
  });
  zmq_msg_t message;
  zmq_msg_init(&message);
  const double rate = Rate(ring.block_bytes, [&]() -> std::uint64_t {
    for (int frame = 0; frame < 4; ++frame) {
      if (zmq_msg_recv(&message, router, 0) < 0) return 0;
    }
    return 1;
  });
  stop = true;
  while (!gone) (void)zmq_msg_recv(&message, router, 0);  // it may wait for room
  sender.join();
  zmq_msg_close(&message);
  zmq_close(router);
  zmq_ctx_term(context);
  return rate;
}

/// An actor with nothing to do but send.
class Sender {
 public:
  Sender(const Ring& ring, const std::string& address, const Shape& shape)
      : ring_(ring), socket_(OpenSocket(context_, address)), session_(1) {
    wire::Hello hello;
    hello.actor_name = "bench";
    hello.pace = Pace::kCredit;
    wire::HelloModel model;
    model.name = "default";
    model.spaces = SpacesOf(shape).ToText();
    model.agents = {0};
    hello.models = {model};
    Carry(session_.Introduce(hello, MonotonicNs()));
  }

  void Run(const std::atomic<bool>& stop) {
    Poller poller(nullptr);
    while (!stop) {
      Listen();
      bool sent = false;
      while (MaySend() && Ship()) sent = true;
      Socket* const sockets[] = {&socket_};
      if (!sent) poller.Wait(sockets, 1);
    }
  }

 private:
  static Socket OpenSocket(SocketContext& context, const std::string& address) {
    SocketOptions options;
    options.high_water_mark = 1024;  // credit is what holds it back
    Result<Socket> socket = Socket::Open(context, SocketKind::kDealer, options);
    MURMURATE_CHECK(socket.ok() && socket->Connect(address).ok(), "no way to the learner");
    return *std::move(socket);
  }

  void Listen() {
    Message message;
    while (socket_.TryReceive(&message)) {
      const std::span<const std::byte> frames[] = {message.frames[0].bytes(),
                                                   message.frames[1].bytes()};
      const auto decoded = wire::Decode(frames);
      Carry(session_.OnMessage(std::get<wire::Decoded>(decoded), MonotonicNs()));
    }
    if (MonotonicNs() < next_tick_ns_) return;
    next_tick_ns_ = MonotonicNs() + 5 * kNanosecondsPerMillisecond;
    wire::Ping progress;
    progress.models.resize(1);
    Carry(session_.OnTick(progress, MonotonicNs()));
  }

  void Carry(wire::ClientSession::Output output) {
    for (const wire::Body& body : output.send) {
      const wire::Encoded encoded = wire::Encode(body, session_.sender(), 0);
      Message message;
      message.frames.emplace_back(std::span<const std::byte>(encoded.header));
      message.frames.emplace_back(std::span<const std::byte>(encoded.metadata));
      (void)socket_.TrySend(message);
    }
  }

  bool MaySend() const {
    return session_.state() == wire::ClientSession::State::kLive &&
           !session_.totals().credit().empty() &&
           (number_ + 1) * kLength <= session_.totals().credit()[0].steps_total &&
           (number_ + 1) * ring_.block_bytes <= session_.totals().bytes();
  }

  bool Ship() {
    const std::uint64_t incarnation = session_.hello_ok()->incarnation;
    const wire::Encoded encoded = wire::Encode(ring_.Metadata(number_, incarnation),
                                               session_.sender(), number_ + 1, ring_.block_bytes);
    Message message;
    message.frames.emplace_back(std::span<const std::byte>(encoded.header));
    message.frames.emplace_back(std::span<const std::byte>(encoded.metadata));
    message.frames.emplace_back(ring_.block(number_), [] {});
    if (socket_.TrySend(message) != SendOutcome::kSent) return false;
    (void)session_.NextSequence();
    ++number_;
    return true;
  }

  const Ring& ring_;
  SocketContext context_;
  Socket socket_;
  wire::ClientSession session_;
  std::uint64_t number_ = 0;
  std::int64_t next_tick_ns_ = 0;
};

double OurRate(const Ring& ring, const Shape& shape) {
  SocketContext context;
  PolicyAndValue spec;
  spec.spaces = SpacesOf(shape);
  auto channel = std::make_shared<ExperienceChannel>(spec, kLength, shape.batch_trajectories);
  channel->version = 1;
  IngestOptions options;
  options.listen = {Address("bench-ours")};
  options.incarnation = 7;
  auto ingest = Ingest::Open(context, options, [&](const std::string&, const Spaces&) {
    OfferedModel offered;
    offered.channel = channel;
    return Result<OfferedModel>(offered);
  });
  MURMURATE_CHECK(ingest.ok(), ingest.status().message().c_str());
  std::atomic<bool> stop{false};
  std::thread actor([&] {
    StayOn(0);
    Sender(ring, options.listen[0], shape).Run(stop);
  });
  std::uint64_t received = 0;
  const double rate = Rate(ring.block_bytes, [&]() -> std::uint64_t {
    (*ingest)->PollOnce(100);
    while (auto batch = channel->ready.TryPop()) {
      channel->credit += (*batch)->trajectories.size();
      (void)channel->empty.TryPush(std::move(*batch));
    }
    return channel->received_trajectories - std::exchange(received, channel->received_trajectories);
  });
  stop = true;
  actor.join();
  const Ingest::Report report = (*ingest)->CollectReport();
  for (const std::uint64_t refusals : report.refusals) {
    MURMURATE_CHECK(refusals == 0, "the bench's own messages were refused");
  }
  return rate;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void Measure(const Shape& shape, int rounds) {
  const Ring ring(shape);
  std::vector<double> ours, ratios;
  for (int round = 0; round < rounds; ++round) {
    const double limit = RawRate(ring);
    ours.push_back(OurRate(ring, shape));
    ratios.push_back(ours.back() / limit);
  }
  Print({.name = std::string("ingest of ") + shape.name + " messages (medians)",
         .unit = "GB/s",
         .ours = Median(ours) * 1e-9,
         .limit = Median(ours) * 1e-9 / Median(ratios),
         .target = kTarget});
}

}  // namespace
}  // namespace murmurate

int main(int argc, char** argv) {
  murmurate::StayOn(1);
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 5;
  for (const murmurate::Shape& shape : murmurate::kShapes) murmurate::Measure(shape, rounds);
  murmurate::RemoveRuntimeFolder();
}
