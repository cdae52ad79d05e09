// What a Shard is made of; shard.cc has what it does with messages, shard_merge.cc how it
// merges and answers them, shard_state.cc how it is saved and what it says of itself.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/parameters/block_pool.h"
#include "server/parameters/sgd.h"
#include "server/parameters/shard.h"
#include "shared/model/parameter_layout.h"

namespace murmurate {

/// Floats; three such pieces stay in the nearest cache.
inline constexpr std::size_t kPieceFloats = 2048;

struct Shard::State {
  struct Pending {
    std::uint64_t step = 0, stamp = 0;
    float learning_rate = 0.0f;
    std::shared_ptr<Block> contribution;
  };
  struct Worker {
    std::uint32_t number = 0;
    std::uint64_t step = 0;    ///< of its last push that was dealt with
    std::uint64_t pulled = 0;  ///< version that it was last answered with
    std::uint64_t pushes = 0;  ///< for bounded staleness: a newcomer begins where the slowest is
    std::uint64_t kept = 0;
    bool member = false, waiting = false;
    bool came = false;              ///< joined since this shard was started
    bool left = false;              ///< said BYE, or another one has come with its number
    bool trained = false;           ///< before it joined: what it has is no beginning
    bool awaits_beginning = false;  ///< its pull waits for the one who brings parameters
    std::int64_t heard_ns = 0;
    std::shared_ptr<const Block> pulled_center;  ///< where NeedsPulledCopy
    std::shared_ptr<const Block> elastic;        ///< where AnswerIsElastic: the last e
    AlignedFloats statistics;                    ///< shard 0: all that it has seen
    std::unique_ptr<Pending> pending;            ///< of a round that is not complete
    std::optional<wire::Center> held;            ///< merged; its answer waits for the slowest
  };

  State(const ShardSettings& given, int given_index, int given_of, LogCallback given_log)
      : settings(given), index(given_index), of(given_of), log(std::move(given_log)) {}

  Status Build(const std::string& text);
  Status CheckJoin(const wire::Join& join, std::int64_t now_ns) const;
  bool IsLive(const Worker& worker, std::int64_t now_ns) const {
    return worker.member && now_ns - worker.heard_ns < settings.dead_after_ns;
  }
  bool MayBeReplaced(std::int64_t now_ns) const;
  void Forget();
  bool MayBegin(const Worker& worker, std::int64_t now_ns) const;
  Status TakeStatistics(Worker* worker, const wire::Push& push, std::span<const float> block);
  void PutBackStatistics(Worker* worker, std::span<const float> block);
  Status Accept(std::uint64_t id, const wire::Push& push, std::span<const float> block,
                std::int64_t now_ns);
  Status NotFinite(const wire::Push& push) const;
  /// False: not finite; it is as empty as before.
  bool Begin(std::uint64_t id, std::span<const float> parameters);
  Status MergeNow(Worker& worker, const wire::Push& push, std::span<const float> contribution);
  /// One pass over memory instead of three; false: not finite, and nothing has changed.
  bool StepIntoNext(float learning_rate, float scale, std::span<const float> contribution);
  bool IsStepInPieces() const { return plain && !IsSynchronous(settings.rule.name); }
  Status Await(std::uint64_t id, const wire::Push& push, std::span<const float> contribution,
               std::int64_t now_ns);
  void TryRound(std::int64_t now_ns);
  int NeverCame() const;
  void MergeArrivals(std::size_t count);
  void Hold(Worker& worker, const wire::Center& answer);
  void Release();
  void AnswerAgain(std::uint64_t id, const wire::Push& push);
  void Respond(std::uint64_t id, const wire::Center& center);
  void RespondElastic(std::uint64_t id, const wire::Center& center);
  /// What all workers have seen, behind the range's numbers.
  void PutStatistics(Block* block) const;
  std::span<const float> Trained() const { return center->floats().first(range.count); }
  /// The center, to be changed: the block itself while nobody else has it, else a copy of it.
  std::span<float> Renewed();
  std::uint64_t Slowest() const;
  int Members() const;
  void Succeed(std::uint64_t successor, std::uint32_t number);
  void Leaves(Worker& worker, LogLevel level, const char* why);

  const ShardSettings settings;
  const int index, of;
  const LogCallback log;
  std::string spec_text;
  std::optional<ParameterLayout> layout;
  PartRange range;
  std::size_t statistics = 0;  ///< floats that ride behind the range; of shard 0
  bool empty = true, begun = false, loaded = false;
  std::optional<std::int64_t> first_joined_ns;   ///< of the model
  std::uint64_t version = 0, first_version = 0;  ///< now; when this shard was started
  /// As it is answered. Not written any more once it `is_out`: as an answer, or kept as what
  /// a worker pulled.
  std::shared_ptr<Block> center;
  bool is_out = false, old_statistics = false;
  AlignedFloats scratch;  ///< a range, or where it IsStepInPieces a piece
  AlignedFloats arrived;  ///< statistics that are not checked yet; then those before them
  std::unique_ptr<Optimizer> optimizer;
  Sgd* plain = nullptr;  ///< the optimizer, where it steps each number by itself: without state
  std::map<std::uint64_t, Worker> workers;
  std::vector<std::uint64_t> arrivals;  ///< whose push is pending, in their order
  std::unique_ptr<BlockPool> pool;
  std::shared_ptr<ShardSegment> shared;  ///< where the pool's blocks lie; null: nowhere
  std::vector<Answer> answers;
};

}  // namespace murmurate
