// ShardCenter: the numbers of a shard's range, as they are answered, and how contributions are
// merged into them.
//
// The block is not written any more once it is out: as an answer, or kept as what a worker pulled.
// What is merged after that goes into the next one.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>

#include "server/parameters/apply.h"
#include "server/parameters/merge_round.h"
#include "server/parameters/optimizers.h"
#include "server/parameters/push_block_pool.h"
#include "server/parameters/shard.h"
#include "server/parameters/update_rule.h"

namespace murmurate {

class ShardCenter {
 public:
  /// Of `range` of the trained parameters; `statistics`: floats that lie behind it. The settings
  /// must outlive this.
  ShardCenter(const ShardSettings& settings, const ParameterLayout& layout, PartRange range,
              std::size_t statistics);

  const PartRange& range() const { return range_; }
  std::size_t block_floats() const { return range_.count + statistics_; }
  std::span<const float> trained() const { return block_->floats().first(range_.count); }
  /// The block, to be answered, or kept.
  std::shared_ptr<const Block> Share();
  /// The statistics behind the range, to be written.
  std::span<float> Statistics() { return Renewed().subspan(range_.count); }

  /// Begins with these; false: not finite.
  bool Begin(std::span<const float> parameters);
  /// Merges one push and returns the factor that it was weighed with; nothing: it holds numbers
  /// that cannot be merged, and nothing has changed. `elastic`: where AnswerIsElastic, the answer.
  std::optional<float> Merge(Push push, std::shared_ptr<Block>* elastic);
  /// A copy of a contribution, to be merged in a round; null: it cannot be.
  std::shared_ptr<Block> Copy(std::span<const float> contribution);
  void MergeRound(std::span<const RoundPart> parts, float learning_rate);

  /// See Shard::ShareAnswers.
  Result<std::shared_ptr<ShardSegment>> ShareAnswers(std::uint32_t slots, std::uint64_t wakeup);

  void Save(SavedState* state, const StateWriter& writer) const;
  Status Load(const SavedState& state, const StateReader& reader);

 private:
  /// The center, to be changed: the block itself while it is not out, else a copy of it.
  std::span<float> Renewed();
  /// Steps in one pass over memory instead of three; false: not finite, and nothing has changed.
  bool StepIntoNext(float learning_rate, float scale, std::span<const float> contribution);

  const ShardSettings& settings_;
  const PartRange range_;
  const std::size_t statistics_;
  std::unique_ptr<Optimizer> optimizer_;
  Sgd* plain_ = nullptr;   ///< the optimizer, where it is Sgd and nothing before it
  AlignedFloats scratch_;  ///< a range, or a piece where each push is stepped in pieces
  std::shared_ptr<ShardSegment> shared_;  ///< where the pool's blocks lie; null: nowhere
  std::unique_ptr<PushBlockPool> pool_;
  std::shared_ptr<Block> block_;
  bool is_out_ = false;
};

}  // namespace murmurate
