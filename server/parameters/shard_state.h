// What a Shard is made of; shard.cc has what it does with messages, shard_state.cc how it is saved.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/parameters/block_pool.h"
#include "server/parameters/shard.h"

namespace murmurate {

struct Shard::State {
  struct Pending {
    std::uint64_t step = 0, stamp = 0;
    float learning_rate = 0.0f;
    AlignedFloats contribution;
  };
  struct Worker {
    std::uint32_t number = 0;
    std::uint64_t step = 0;    ///< of its last push that was dealt with
    std::uint64_t pulled = 0;  ///< version that it was last answered with
    std::uint64_t pushes = 0;  ///< for bounded staleness: a newcomer begins where the slowest is
    std::uint64_t kept = 0;
    bool member = false, waiting = false;
    std::int64_t heard_ns = 0;
    AlignedFloats pulled_center;                   ///< where NeedsPulledCopy
    std::shared_ptr<const AlignedFloats> elastic;  ///< where AnswerIsElastic: the last e
    AlignedFloats statistics;                      ///< shard 0: all that it has seen
    std::unique_ptr<Pending> pending;              ///< of a round that is not complete
    std::optional<wire::Center> held;              ///< merged; its answer waits for the slowest
  };

  State(const ShardSettings& given, int given_index, int given_of, LogCallback given_log)
      : settings(given), index(given_index), of(given_of), log(std::move(given_log)) {}

  Status Build(const std::string& text);
  Status CheckJoin(const wire::Join& join) const;
  Status CheckBlock(const wire::Push& push, std::span<const float> block) const;
  void Begin(std::span<const float> parameters);
  void MergeNow(Worker& worker, const wire::Push& push, std::span<const float> contribution);
  void Await(std::uint64_t id, const wire::Push& push, std::span<const float> contribution);
  void TryRound();
  void MergeArrivals(std::size_t count);
  void Release();
  void AnswerAgain(std::uint64_t id, const wire::Push& push);
  void Respond(std::uint64_t id, const wire::Center& center);
  void RespondElastic(std::uint64_t id, const wire::Center& center);
  /// What all workers have seen, behind the range's numbers.
  void PutStatistics(AlignedFloats* block) const;
  std::uint64_t Slowest() const;
  int Members() const;
  void Leaves(Worker& worker, const char* why);

  const ShardSettings settings;
  const int index, of;
  const LogCallback log;
  std::string spec_text;
  std::optional<ParameterLayout> layout;
  PartRange range;
  std::size_t statistics = 0;  ///< floats that ride behind the range; of shard 0
  bool empty = true, begun = false;
  std::uint64_t version = 0;
  AlignedFloats center, scratch;
  std::unique_ptr<Optimizer> optimizer;
  std::map<std::uint64_t, Worker> workers;
  std::vector<std::uint64_t> arrivals;  ///< whose push is pending, in their order
  std::unique_ptr<BlockPool> pool;
  std::shared_ptr<const AlignedFloats> newest;  ///< the center as it is answered; null when stale
  std::vector<Answer> answers;
};

}  // namespace murmurate
