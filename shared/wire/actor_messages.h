// The messages between actors and a learner, and the messages shared with others: ERROR, GOAWAY,
// BYE, PING and PONG are also those of shards and streams. schemas/README.md draws the session.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "murmurate/pace.h"
#include "murmurate/status.h"
#include "shared/trajectory/trajectory.h"
#include "shared/wire/fields.h"

namespace murmurate::wire {

namespace fb {
struct Hello;
struct HelloOk;
struct Experience;
struct Accepted;
struct Committed;
struct Ping;
struct Pong;
struct Goaway;
struct Error;
struct Bye;
struct Pull;
struct Chunk;
struct Settings;
}  // namespace fb

/// A Feature is a capability added after the first clients, one bit each in Hello::features. A
/// learner refuses, with a sentence, a client that lacks a feature its model needs.
enum Feature : std::uint32_t {
  kScaledBoxes = 1,    ///< the line "scale box" of a spec
  kNamedNetworks = 2,  ///< a spec that begins with "murmurate-model 2"
  kDeterministic = 4,  ///< the line "deterministic" of a spec
};
inline constexpr std::uint32_t kAllFeatures = kScaledBoxes | kNamedNetworks | kDeterministic;

inline constexpr Range kModelIndex = {"model", 0, kMaxModels - 1, "an index of HELLO's list"};

struct HelloModel {
  std::string name;
  std::string spaces;                   ///< Spaces::ToText()
  std::vector<std::uint32_t> agents;    ///< this client's own numbers of its live agents, 0..
  std::uint64_t holds_incarnation = 0;  ///< of the weights it holds; 0: none
  std::uint64_t holds_version = 0;

  static auto Fields(auto& m, auto visit) {
    return visit(m.name | Name("model name"), m.spaces | Rule{"spaces", kMaxSpaces},
                 m.agents | Rule{"agents", kMaxAgents}, m.holds_incarnation, m.holds_version);
  }
  void Check(Checker& in) const;
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

  static constexpr Row<fb::Hello> kRow{MessageType{1}, kMaxHelloBytes};
  static auto Fields(auto& m, auto visit) {
    return visit(m.min_major, m.max_major, m.actor_name | Name("actor name"), m.host_identity,
                 m.pace | Range{"pace", 0, 2, "0 to 2"}, m.accept_reset, m.pid,
                 m.models | Rule{"models", kMaxModels}, m.number, m.sequence, m.features);
  }
  void Check(Checker& in) const;
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
  bool changes = false;           ///< trajectories may go on under newer versions
  /// Of the episodes, so many are played to be evaluated (client/evaluated_episodes.h); 0: none.
  double evaluation_share = 0.0;

  static auto Fields(auto& m, auto visit) {
    return visit(m.name | Name("model name"), m.id, m.member, m.spec | Rule{"spec", kMaxSpec},
                 m.version,
                 m.trajectory_length | Range{"trajectory length", 1, 65'536, "1 to 65536"},
                 m.max_trajectory_ms, m.segment | Rule{"segment name", kMaxSegmentName},
                 m.agent_indices | Rule{"agent indices", kMaxAgents},
                 m.agent_seeds | Rule{"agent seeds", kMaxAgents}, m.steps_total, m.at_version,
                 m.changes, m.evaluation_share | Range{"evaluation share", 0.0, 0.5, "0 to 0.5"});
  }
  void Check(Checker& in) const {
    in.Expect(agent_seeds.size() == agent_indices.size(), "agent seeds", "one for each agent");
  }
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
  /// The last sequence of this sender that the checkpoint of a resumed learner contains.
  std::uint64_t kept_sequence = 0;

  static constexpr Row<fb::HelloOk> kRow{MessageType{2}, kMaxHelloBytes};
  static auto Fields(auto& m, auto visit) {
    return visit(
        m.incarnation, m.resumed, m.heartbeat_ms | Range{"heartbeat", 1, 60'000, "1 to 60000 ms"},
        m.max_message_bytes, m.bytes_total,
        m.announce_address | Rule{"announce address", kMaxAddress},
        m.weights_address | Rule{"weights address", kMaxAddress},
        m.models | Rule{"models", kMaxModels}, m.session, m.number, m.sequence, m.kept_sequence);
  }
};

/// A number the game reported by name, summed over the finished episodes of one message.
struct ReportedNumber {
  std::string name;
  double sum = 0.0;         ///< of the episodes' values
  std::uint32_t count = 0;  ///< episodes that reported it

  static auto Fields(auto& m, auto visit) {
    return visit(m.name | Name("report name"), m.sum | Finite("report", "a finite sum"), m.count);
  }
};

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
  VersionChanges changes;

  static constexpr Row<fb::Experience> kRow{.type = MessageType{3}, .has_block = true};
  static auto Fields(auto& m, auto visit) {
    return visit(m.model | kModelIndex, m.agent, m.incarnation, m.version, m.first_step, m.steps,
                 m.agent_steps, m.columns | Rule{"columns", kColumnCount},
                 m.reports | Rule{"reports", kMaxReportedNumbers, Form::kOptional},
                 m.changes | Rule{"version changes", VersionChanges::kMost, Form::kOptional});
  }
};

/// Cuts the third frame into columns as the metadata declares them, checking offsets, alignment,
/// overlap and sizes against `layout`. Copies nothing: the spans point into `block`, which must be
/// 8-byte aligned (small ZeroMQ payloads are not: the caller copies those, or gets a failure).
/// view->agent is the client's own number; the caller that knows the learner-wide one puts it in.
Status ViewTrajectory(const Experience& metadata, std::span<const std::byte> block,
                      const TrajectoryLayout& layout, TrajectoryView* view);

struct ModelCredit {
  std::uint64_t steps_total = 0;
  std::uint64_t at_version = 0;  ///< kLockstep: wait for this version before using it
  std::uint64_t version = 0;     ///< newest published

  static auto Fields(auto& m, auto visit) { return visit(m.steps_total, m.at_version, m.version); }
};
/// Sent when any total changes; totals count from HELLO_OK and never fall.
struct Accepted {
  std::uint64_t sequence = 0;  ///< highest EXPERIENCE acknowledged (accepted or refused)
  std::uint64_t bytes_total = 0;
  std::vector<ModelCredit> models;

  static constexpr Row<fb::Accepted> kRow{MessageType{4}};
  static auto Fields(auto& m, auto visit) {
    return visit(m.sequence, m.bytes_total, m.models | Rule{"models", kMaxModels});
  }
};

/// COMMITTED: the experience of a sender for one model that a checkpoint on disk contains.
struct Committed {
  std::uint32_t model = 0;         ///< index into Hello::models
  std::uint64_t sequence = 0;      ///< up to this EXPERIENCE
  std::uint64_t trajectories = 0;  ///< of the sender's life in this run
  std::uint64_t steps = 0;

  static constexpr Row<fb::Committed> kRow{MessageType{5}};
  static auto Fields(auto& m, auto visit) {
    return visit(m.model | kModelIndex, m.sequence, m.trajectories, m.steps);
  }
};

struct PingModel {
  std::uint64_t steps = 0;          ///< environment steps taken by this client's agents
  std::uint64_t dropped_steps = 0;  ///< of them, in trajectories never sent
  std::uint64_t version = 0;        ///< acted under

  static auto Fields(auto& m, auto visit) { return visit(m.steps, m.dropped_steps, m.version); }
};
/// PingWait sums over the agents of one model.
struct PingWait {
  std::uint64_t waited_ns = 0;  ///< inside Act, for credit or weights
  std::uint64_t played_ns = 0;  ///< of so much life in this session

  static auto Fields(auto& m, auto visit) { return visit(m.waited_ns, m.played_ns); }
};
/// PingTrouble says why play of a client cannot be learned from, in words for people.
struct PingTrouble {
  std::uint32_t model = 0;   ///< index into Hello::models
  std::uint32_t agent = 0;   ///< the client's own number, of the first that has it
  std::uint32_t agents = 0;  ///< how many have; 0: it is not of single agents
  std::string sentence;

  static auto Fields(auto& m, auto visit) {
    return visit(m.model | kModelIndex, m.agent, m.agents,
                 m.sentence | Sentence("trouble", kMaxTrouble));
  }
};
struct Ping {
  std::int64_t sent_ns = 0;  ///< the sender's monotonic clock, echoed
  std::vector<PingModel> models;
  std::vector<PingTrouble> troubles = {};  ///< at most kMaxPingTroubles; the rest is not sent
  std::vector<PingWait> waits = {};        ///< of each model; an earlier client sends none

  static constexpr Row<fb::Ping> kRow{MessageType{6}};
  static auto Fields(auto& m, auto visit) {
    return visit(
        m.sent_ns, m.models | Rule{"models", kMaxModels},
        m.waits | Rule{"models", kMaxModels, Form::kOptional},
        m.troubles | Rule{"troubles", kMaxPingTroubles, Form::kOptional, kMaxPingTroubles});
  }
};
struct Pong {
  std::int64_t sent_ns = 0;
  std::uint64_t incarnation = 0;
  std::vector<ModelCredit> models;

  static constexpr Row<fb::Pong> kRow{MessageType{7}};
  static auto Fields(auto& m, auto visit) {
    return visit(m.sent_ns, m.incarnation, m.models | Rule{"models", kMaxModels});
  }
};

struct Goaway {
  std::string reason;
  std::uint32_t deadline_ms = 5000;
  bool restart_expected = false;

  static constexpr Row<fb::Goaway> kRow{MessageType{8}};
  static auto Fields(auto& m, auto visit) {
    return visit(m.reason | Sentence("reason"), m.deadline_ms, m.restart_expected);
  }
};
struct Error {
  Refusal refusal = Refusal::kMalformed;
  std::string sentence;
  std::uint64_t sequence = 0;  ///< of the refused message

  static constexpr Row<fb::Error> kRow{MessageType{9}};
  static auto Fields(auto& m, auto visit) {
    return visit(m.refusal, m.sentence | Sentence("sentence"), m.sequence);
  }
  /// A newer peer may know more reasons; its sentence says which.
  void Check(Checker&) {
    if (static_cast<int>(refusal) >= kRefusalCount) refusal = Refusal::kMalformed;
  }
};
struct Bye {
  std::uint8_t reserved = 0;

  static constexpr Row<fb::Bye> kRow{MessageType{10}};
  static auto Fields(auto& m, auto visit) { return visit(m.reserved); }
};

/// Asks for chunks of the newest version (or goes on with `version` from `offset`).
struct Pull {
  std::array<std::uint8_t, 16> model{};
  std::uint64_t version = 0;  ///< 0: the newest
  std::uint64_t offset = 0;   ///< bytes
  std::uint32_t credit = 10;  ///< chunks the server may send without another PULL

  static constexpr Row<fb::Pull> kRow{MessageType{11}};
  static auto Fields(auto& m, auto visit) {
    return visit(m.model, m.version, m.offset,
                 m.credit | Range{"credit", 1, kMaxPullCredit, "1 to 1024 chunks"});
  }
};
/// Metadata of a CHUNK; its bytes are the third frame.
struct Chunk {
  std::array<std::uint8_t, 16> model{};
  std::uint64_t incarnation = 0;
  std::uint64_t version = 0;
  std::uint64_t total_bytes = 0;
  std::uint64_t offset = 0;
  std::uint64_t hash = 0;  ///< xxh3-64 of the whole payload

  static constexpr Row<fb::Chunk> kRow{.type = MessageType{12}, .has_block = true};
  static auto Fields(auto& m, auto visit) {
    return visit(m.model, m.incarnation, m.version, m.total_bytes, m.offset, m.hash);
  }
  void Check(Checker& in) const;
};

/// The learner's settings of the game, all of them: before HELLO_OK, and whenever one has changed.
struct Setting {
  std::string name;
  double value = 0.0;
  friend bool operator==(const Setting&, const Setting&) = default;

  static auto Fields(auto& m, auto visit) {
    return visit(m.name | Name("setting name"), m.value | Finite("setting", "a finite value"));
  }
};
struct Settings {
  std::uint32_t revision = 0;  ///< 1 to 65535, then 1 again; 0: there have never been any
  std::vector<Setting> settings;
  friend bool operator==(const Settings&, const Settings&) = default;

  static constexpr Row<fb::Settings> kRow{MessageType{17}};
  static auto Fields(auto& m, auto visit) {
    return visit(m.revision | Range{"revision", 1, 65'535, "1 to 65535"},
                 m.settings | Rule{"settings", kMaxSettings});
  }
};

using ActorBody = std::variant<Hello, HelloOk, Experience, Accepted, Committed, Ping, Pong, Goaway,
                               Error, Bye, Pull, Chunk, Settings>;

}  // namespace murmurate::wire
