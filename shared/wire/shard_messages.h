// The messages between a worker (a learner) and a shard of a parameter server. The sender of the
// header is the worker's random number for as long as it lives, or the shard's incarnation; ERROR,
// GOAWAY and BYE are those of actors.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "shared/wire/fields.h"

namespace murmurate::wire {

namespace fb {
struct AskRule;
struct Join;
struct Joined;
struct ShardRule;
struct Push;
struct Center;
struct Alive;
}  // namespace fb

struct Join {
  std::string model;                    ///< the model's name
  std::string spec;                     ///< ModelSpec::ToText()
  std::string rule;                     ///< all settings that both sides must share, as text
  std::uint32_t worker = 0;             ///< its number: the order of sums
  std::uint32_t shard = 0, shards = 1;  ///< the shard that the worker means
  std::uint64_t step = 0;               ///< of the push under way, or of the next; 0: it made none
  std::uint64_t host = 0;               ///< HostIdentity: a shard of the same can map
  std::string segment;                  ///< this one (server/parameters/shard_segment.h); "": none

  static constexpr Row<fb::Join> kRow{MessageType{18}, kMaxGreetingBytes};
  static auto Fields(auto& m, auto visit) {
    return visit(m.model | Name("model"), m.spec | Rule{"spec", kMaxArrayList},
                 m.rule | Rule{"rule", kMaxSentence}, m.worker, m.shard, m.shards, m.step, m.host,
                 m.segment | Rule{"segment name", kMaxSegmentName});
  }
  void Check(Checker& in) const {
    in.Expect(shard < shards, "shard", "an index below the number of shards");
  }
};
/// The shard has numbers [begin, begin + count) of those that are trained.
struct Joined {
  std::uint64_t version = 0, begin = 0, count = 0;
  bool empty = false;        ///< it has no parameters yet: the first PUSH brings them
  std::uint64_t step = 0;    ///< this worker's last push that it knows of
  std::string segment = {};  ///< where answers lie; "": the worker's segment is not mapped

  static constexpr Row<fb::Joined> kRow{MessageType{19}};
  static auto Fields(auto& m, auto visit) {
    return visit(m.version, m.begin, m.count, m.empty, m.step,
                 m.segment | Rule{"segment name", kMaxSegmentName});
  }
};
/// The block of a PUSH: `count` floats (none: only the center is asked for), then, for shard 0, the
/// worker's observation statistics.
struct Push {
  std::uint64_t step = 0;    ///< 1, 2, 3...; 0: no contribution, but parameters to begin with
  std::uint64_t pulled = 0;  ///< the version that it was computed from
  double learning_rate = 0.0;
  std::uint64_t turn = 0;  ///< not 0: the answer belongs into the worker's segment

  static constexpr Row<fb::Push> kRow{.type = MessageType{20}, .has_block = true};
  static auto Fields(auto& m, auto visit) {
    return visit(m.step, m.pulled,
                 m.learning_rate | Range{"learning rate", 0, 1e6, "a number from 0 to a million",
                                         Refusal::kNotFinite},
                 m.turn);
  }
  void Check(Checker& in) const {
    in.Expect(in.block_bytes % sizeof(float) == 0, "push", "whole floats");
  }
};
/// The block of a CENTER: the center or the elastic difference; then, of shard 0, statistics.
struct Center {
  std::uint64_t step = 0;  ///< of the PUSH that is answered
  std::uint64_t version = 0;
  std::uint64_t staleness = 0;  ///< versions that the push was late, and
  double distance = 0.0;        ///< how far the center had moved meanwhile, where that is measured
  bool merged = false;          ///< false: it came too late for its round and changed nothing
  std::uint64_t kept = 0;       ///< this worker's pushes up to here are in a checkpoint

  static constexpr Row<fb::Center> kRow{.type = MessageType{21}, .has_block = true};
  static auto Fields(auto& m, auto visit) {
    return visit(m.step, m.version, m.staleness, m.distance, m.merged, m.kept);
  }
  void Check(Checker& in) const {
    in.Expect(in.block_bytes % sizeof(float) == 0, "center", "whole floats");
  }
};
/// Every half second, from a thread that does nothing else.
struct Alive {
  bool waiting = false;  ///< for experience or data: no barrier need wait for this worker

  static constexpr Row<fb::Alive> kRow{MessageType{22}};
  static auto Fields(auto& m, auto visit) { return visit(m.waiting); }
};

/// From one that has not joined and does not know the shard's rule.
struct AskRule {
  std::string model;

  static constexpr Row<fb::AskRule> kRow{MessageType{30}};
  static auto Fields(auto& m, auto visit) { return visit(m.model | Name("model")); }
};
struct ShardRule {
  std::string rule;  ///< what Join::rule must be
  std::uint32_t shard = 0, shards = 1;

  static constexpr Row<fb::ShardRule> kRow{MessageType{31}};
  static auto Fields(auto& m, auto visit) {
    return visit(m.rule | wire::Rule{"rule", kMaxSentence}, m.shard, m.shards);
  }
  void Check(Checker& in) const {
    in.Expect(shard < shards, "shard", "an index below the number of shards");
  }
};

using ShardBody = std::variant<Join, Joined, Push, Center, Alive, AskRule, ShardRule>;

}  // namespace murmurate::wire
