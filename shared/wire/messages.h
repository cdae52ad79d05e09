// Messages: structs <-> bytes. The protocol is written here once, for both ends; schemas/README.md
// draws it. Nothing here has a socket or a clock.
//
// A message is two frames, EXPERIENCE, CHUNK, PUSH and CENTER three: a 32-byte little-endian
// header, one FlatBuffer (schemas/murmurate.fbs, < 4 KiB; of ADMIN, ADMIN_OK and JOIN < 256 KiB, of
// HELLO and HELLO_OK < 1 MiB), and one raw block. Decoding never reads outside its input and never
// accepts what it did not check: size, magic, version, type, Verifier (max_depth 16, max_tables
// 4096), required fields, names
// ([A-Za-z0-9._-]{1,64}), counts, and that the copied parts are no larger than the bytes that came.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "murmurate/pace.h"
#include "murmurate/status.h"
#include "shared/trajectory/trajectory.h"
#include "shared/wire/stream_messages.h"

namespace murmurate::wire {

inline constexpr std::uint32_t kMagic = 0x31524d4d;  ///< "MMR1"
inline constexpr std::uint8_t kMajor = 1;
inline constexpr std::uint8_t kMinor = 0;
inline constexpr std::size_t kHeaderBytes = 32;
inline constexpr std::size_t kMaxMetadataBytes = 4096;
/// JOIN lists specs, ADMIN_OK holds a report, SAMPLE and FORECAST have as
/// many numbers as the stream: these may be larger.
inline constexpr std::size_t kMaxGreetingBytes = 256 * 1024;
/// FORECAST: 4096 values at as many horizons, in doubles.
inline constexpr std::size_t kMaxForecastBytes = 320 * 1024;
/// HELLO and HELLO_OK: 4 and 12 bytes an agent beside names, spaces and specs.
inline constexpr std::size_t kMaxHelloBytes = 1024 * 1024;
inline constexpr std::size_t kMaxModels = 64;     ///< of one client
inline constexpr std::size_t kMaxAgents = 65536;  ///< of one client, all its models together
inline constexpr std::size_t kChunkBytes = 256 * 1024;

enum class MessageType : std::uint16_t {
  kHello = 1,
  kHelloOk = 2,
  kExperience = 3,
  kAccepted = 4,
  kCommitted = 5,
  kPing = 6,
  kPong = 7,
  kGoaway = 8,
  kError = 9,
  kBye = 10,
  kPull = 11,
  kChunk = 12,
  kInfer = 13,
  kInferOk = 14,
  kAdmin = 15,
  kAdminOk = 16,
  kSettings = 17,
  kJoin = 18,
  kJoined = 19,
  kPush = 20,
  kCenter = 21,
  kAlive = 22,
  kStreamHello = 23,
  kStreamOk = 24,
  kSample = 25,
  kForecast = 26,
  kTaken = 27,
  kRefused = 28,
  kSamplesCommitted = 29,
};  // 13 and 14 are reserved: answered with kUnknownType

/// Why a message was refused. Every refusal is one of these, with a sentence and a counter.
enum class Refusal : std::uint16_t {
  kNone = 0,
  kMalformed = 1,
  kVersion = 2,
  kUnknownType = 3,
  kNotRegistered = 4,
  kSpaces = 5,
  kCredit = 6,
  kSequence = 7,
  kMeaning = 8,
  kNotFinite = 9,
  kStale = 10,
  kBusy = 11,
  kTooLarge = 12,
  kIncarnation = 13,
};
inline constexpr int kRefusalCount = 14;
const char* RefusalName(Refusal refusal);

struct Header {
  MessageType type = MessageType::kError;
  std::uint8_t major = kMajor;
  std::uint8_t minor = kMinor;
  std::uint32_t flags = 0;       ///< zero
  std::uint32_t body_bytes = 0;  ///< bytes of all frames after this one
  std::uint64_t sender = 0;      ///< random id of one Client, or the learner's incarnation
  std::uint64_t sequence = 0;    ///< EXPERIENCE: 1, 2, 3... over a sender's life; else 0 or what is
                                 ///< answered
};

/// What a client knows beyond the first clients, a bit each in Hello::features. A learner refuses,
/// in words, one that does not know what its model needs.
enum Feature : std::uint32_t {
  kScaledBoxes = 1,    ///< the line "scale box" of a spec
  kNamedNetworks = 2,  ///< a spec that begins with "murmurate-model 2"
};
inline constexpr std::uint32_t kAllFeatures = kScaledBoxes | kNamedNetworks;

struct HelloModel {
  std::string name;
  std::string spaces;                   ///< Spaces::ToText()
  std::vector<std::uint32_t> agents;    ///< this client's own numbers of its live agents, 0..
  std::uint64_t holds_incarnation = 0;  ///< of the weights it holds; 0: none
  std::uint64_t holds_version = 0;
};
struct Hello {
  std::uint8_t min_major = kMajor, max_major = kMajor;
  std::string actor_name;
  std::uint64_t host_identity = 0;
  Pace pace = Pace::kNever;
  bool accept_reset = false;
  std::uint32_t pid = 0;
  std::vector<HelloModel> models;
  std::uint32_t number = 0;    ///< counts this client's HELLOs; ClientSession sets it
  std::uint64_t sequence = 0;  ///< of the last EXPERIENCE it ever sent; ClientSession sets it
  std::uint32_t features = kAllFeatures;  ///< 0: a client of before there were any
};

struct HelloOkModel {
  std::string name;
  std::array<std::uint8_t, 16>
      id{};                   ///< first 16 bytes of SHA-256 of the name: announcement prefix
  std::uint32_t member = 0;   ///< of a population; 0
  std::string spec;           ///< ModelSpec::ToText()
  std::uint64_t version = 0;  ///< newest published
  std::uint32_t trajectory_length = 0;  ///< T
  std::uint32_t max_trajectory_ms = 0;
  std::string segment;  ///< shared-memory name; "" when the host differs or shm is off
  std::vector<std::uint32_t> agent_indices;  ///< learner-wide index of each of HelloModel::agents
  std::vector<std::uint64_t> agent_seeds;
  std::uint64_t steps_total = 0;  ///< step credit granted so far in this session
  std::uint64_t at_version = 0;   ///< kLockstep: the credit is for play under this version
};
struct HelloOk {
  std::uint64_t incarnation = 0;
  bool resumed = false;  ///< the run goes on from a checkpoint of an earlier incarnation
  std::uint32_t heartbeat_ms = 1000;
  std::uint32_t max_message_bytes = 16u << 20;
  std::uint64_t bytes_total = 0;  ///< byte credit granted so far in this session
  std::string announce_address, weights_address;
  std::vector<HelloOkModel> models;  ///< in the order of Hello::models
  /// Another one than last time: totals begin anew, EXPERIENCE goes on after `sequence`. 0: not
  /// said.
  std::uint64_t session = 0;
  std::uint32_t number = 0;  ///< of the HELLO that is answered; 0: not said
  std::uint64_t sequence = 0;
  /// Of a resumed learner: this sender's experience up to here is in what it goes on from.
  std::uint64_t kept_sequence = 0;
};

/// A number the game reported by name, summed over the finished episodes of one message.
struct ReportedNumber {
  std::string name;
  double sum = 0.0;         ///< of the episodes' values
  std::uint32_t count = 0;  ///< episodes that reported it
};
inline constexpr std::size_t kMaxReportedNumbers = 16;

/// Metadata of one trajectory; its columns are the third frame.
struct Experience {
  std::uint32_t model = 0;        ///< index into Hello::models
  std::uint32_t agent = 0;        ///< the client's own number
  std::uint64_t incarnation = 0;  ///< whose weights it was played under; 0: none
  std::uint64_t version = 0;
  std::uint64_t first_step = 0;
  std::uint32_t steps = 0;
  std::uint64_t agent_steps = 0;  ///< this agent's steps so far, dropped ones included
  std::array<ColumnRange, kColumnCount> columns{};  ///< as filled, in the order of Column
  std::vector<ReportedNumber> reports;              ///< at most kMaxReportedNumbers
};

struct ModelCredit {
  std::uint64_t steps_total = 0;
  std::uint64_t at_version = 0;  ///< kLockstep: wait for this version before using it
  std::uint64_t version = 0;     ///< newest published
};
/// Sent when any total changes; totals count from HELLO_OK and never fall.
struct Accepted {
  std::uint64_t sequence = 0;  ///< highest EXPERIENCE dealt with (accepted or refused)
  std::uint64_t bytes_total = 0;
  std::vector<ModelCredit> models;
};

/// What a sender has given to one model is in a checkpoint on disk.
struct Committed {
  std::uint32_t model = 0;         ///< index into Hello::models
  std::uint64_t sequence = 0;      ///< up to this EXPERIENCE
  std::uint64_t trajectories = 0;  ///< of the sender's life in this run
  std::uint64_t steps = 0;
};

struct PingModel {
  std::uint64_t steps = 0;          ///< environment steps taken by this client's agents
  std::uint64_t dropped_steps = 0;  ///< of them, in trajectories never sent
  std::uint64_t version = 0;        ///< acted under
  /// Of its agents together: inside Act, for credit or weights, and of so much life.
  std::uint64_t waited_ns = 0, played_ns = 0;
};
/// Why play of a client cannot be learned from, in words for people.
struct PingTrouble {
  std::uint32_t model = 0;   ///< index into Hello::models
  std::uint32_t agent = 0;   ///< the client's own number, of the first that has it
  std::uint32_t agents = 0;  ///< how many have; 0: it is not of single agents
  std::string sentence;
};
inline constexpr std::size_t kMaxPingTroubles = 4;
struct Ping {
  std::int64_t sent_ns = 0;  ///< the sender's monotonic clock, echoed
  std::vector<PingModel> models;
  std::vector<PingTrouble> troubles = {};  ///< at most kMaxPingTroubles; the rest is not sent
};
struct Pong {
  std::int64_t sent_ns = 0;
  std::uint64_t incarnation = 0;
  std::vector<ModelCredit> models;
};

struct Goaway {
  std::string reason;
  std::uint32_t deadline_ms = 5000;
  bool restart_expected = false;
};
struct Error {
  Refusal refusal = Refusal::kMalformed;
  std::string sentence;
  std::uint64_t sequence = 0;  ///< of the refused message
};
struct Bye {};

/// Asks for chunks of the newest version (or goes on with `version` from `offset`).
struct Pull {
  std::array<std::uint8_t, 16> model{};
  std::uint64_t version = 0;  ///< 0: the newest
  std::uint64_t offset = 0;   ///< bytes
  std::uint32_t credit = 10;  ///< chunks the server may send without another PULL
};
/// Metadata of a CHUNK; its bytes are the third frame.
struct Chunk {
  std::array<std::uint8_t, 16> model{};
  std::uint64_t incarnation = 0;
  std::uint64_t version = 0;
  std::uint64_t total_bytes = 0;
  std::uint64_t offset = 0;
  std::uint64_t hash = 0;  ///< xxh3-64 of the whole payload
};

/// The CLI's questions to a live learner: "status" (answer: JSON), "stop".
struct Admin {
  std::string command;
};
struct AdminOk {
  bool ok = true;
  std::string text;
};

/// The learner's settings of the game, all of them: before HELLO_OK, and whenever one has changed.
struct Setting {
  std::string name;
  double value = 0.0;
  friend bool operator==(const Setting&, const Setting&) = default;
};
struct Settings {
  std::uint32_t revision = 0;  ///< 1 to 65535, then 1 again; 0: there have never been any
  std::vector<Setting> settings;
  friend bool operator==(const Settings&, const Settings&) = default;
};
inline constexpr std::size_t kMaxSettings = 32;

// ---- Between a worker (a learner) and a shard of a parameter server. HELLO's counterparts: the
// sender of the header is the worker's random number for as long as it lives, or the shard's
// incarnation; ERROR, GOAWAY and BYE are those of actors.

struct Join {
  std::string model;                    ///< the model's name
  std::string spec;                     ///< ModelSpec::ToText()
  std::string rule;                     ///< all settings that both sides must share, as text
  std::uint32_t worker = 0;             ///< its number: the order of sums
  std::uint32_t shard = 0, shards = 1;  ///< whom the worker takes the other for
  std::uint64_t step = 0;               ///< of the push under way, or of the next; 0: it made none
  std::uint64_t host = 0;               ///< HostIdentity: who has the same can map
  std::string segment;                  ///< this one (server/parameters/shard_segment.h); "": none
};
/// The shard has numbers [begin, begin + count) of those that are trained.
struct Joined {
  std::uint64_t version = 0, begin = 0, count = 0;
  bool empty = false;        ///< it has no parameters yet: the first PUSH brings them
  std::uint64_t step = 0;    ///< this worker's last push that it knows of
  std::string segment = {};  ///< where answers lie; "": the worker's segment is not mapped
};
/// Its block: `count` floats (none: only the center is asked for), then, for shard 0, the worker's
/// observation statistics.
struct Push {
  std::uint64_t step = 0;    ///< 1, 2, 3...; 0: no contribution, but parameters to begin with
  std::uint64_t pulled = 0;  ///< the version that it was computed from
  double learning_rate = 0.0;
  std::uint64_t turn = 0;  ///< not 0: the answer belongs into the worker's segment
};
/// Its block: the center or, of the elastic rules, the difference; then, of shard 0, statistics.
struct Center {
  std::uint64_t step = 0;  ///< of the PUSH that is answered
  std::uint64_t version = 0;
  std::uint64_t staleness = 0;  ///< versions that the push was late, and
  double distance = 0.0;        ///< how far the center had moved meanwhile, where that is measured
  bool merged = false;          ///< false: it came too late for its round and changed nothing
  std::uint64_t kept = 0;       ///< this worker's pushes up to here are in a checkpoint
};
/// Every half second, from a thread that does nothing else.
struct Alive {
  bool waiting = false;  ///< for experience or data: no barrier need wait for this worker
};

using Body =
    std::variant<Hello, HelloOk, Experience, Accepted, Ping, Pong, Goaway, Error, Bye, Pull, Chunk,
                 Admin, AdminOk, Settings, Committed, Join, Joined, Push, Center, Alive,
                 StreamHello, StreamOk, Sample, Forecast, Taken, Refused, SamplesCommitted>;

struct Decoded {
  Header header;
  Body body;
  std::span<const std::byte> block;  ///< the third frame of those that have one, not looked at
};

/// What could not be decoded, and why: what goes back in an ERROR.
struct DecodeFailure {
  Refusal refusal = Refusal::kNone;
  std::string sentence;
  std::uint64_t sender = 0, sequence = 0;  ///< when the header could be read
};

/// Header and metadata frames of a message; the block, if any, is sent as a third frame. Sentences
/// and texts too long for their message are cut; names and counts must be good (the caller's own).
struct Encoded {
  std::array<std::byte, kHeaderBytes> header;
  std::vector<std::byte> metadata;
};
Encoded Encode(const Body& body, std::uint64_t sender, std::uint64_t sequence,
               std::size_t block_bytes = 0);

std::variant<Decoded, DecodeFailure> Decode(std::span<const std::span<const std::byte>> frames);
/// The header alone, of a first frame that is one of this protocol's; for what is cheaper to refuse
/// than to decode.
std::optional<Header> PeekHeader(std::span<const std::span<const std::byte>> frames);

/// The packed announcement on PUB/SUB, 64 bytes little-endian; its first 16 bytes are the model id.
/// schemas/README.md draws it.
struct Announcement {
  std::array<std::uint8_t, 16> model{};
  std::uint64_t incarnation = 0, version = 0, bytes = 0, hash = 0;
};
inline constexpr std::size_t kAnnouncementBytes = 64;
std::array<std::byte, kAnnouncementBytes> EncodeAnnouncement(const Announcement& announcement);
Status DecodeAnnouncement(std::span<const std::byte> bytes, Announcement* announcement);

std::array<std::uint8_t, 16> ModelId(std::string_view model_name);
bool IsGoodName(std::string_view name);

/// Cuts the third frame into columns as the metadata declares them, checking offsets, alignment,
/// overlap and sizes against `layout`. Copies nothing: the spans point into `block`, which must be
/// 8-byte aligned (small ZeroMQ payloads are not: the caller copies those, or gets a failure).
/// view->agent is the client's own number: whoever knows the learner-wide one puts it in.
Status ViewTrajectory(const Experience& metadata, std::span<const std::byte> block,
                      const TrajectoryLayout& layout, TrajectoryView* view);

}  // namespace murmurate::wire
