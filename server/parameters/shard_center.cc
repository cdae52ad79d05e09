#include "server/parameters/shard_center.h"

#include <algorithm>
#include <array>
#include <utility>

#include "shared/core/check.h"
#include "shared/trajectory/finite.h"

namespace murmurate {
namespace {

/// Floats; three such pieces stay in the nearest cache.
constexpr std::size_t kPieceFloats = 2048;
constexpr std::size_t kLargeFloats = 4u << 20;  ///< leave the cache before they are read again

/// False: some are too large, or not finite. The worker may be writing `from`, so what is checked
/// is a copy, which then goes into `to`.
bool CopySmall(std::span<const float> from, std::span<float> to) {
  const auto kind = to.size() > kLargeFloats ? CopyKind::kPastCache : CopyKind::kOrdinary;
  alignas(64) std::array<float, kPieceFloats> own;
  for (std::size_t at = 0; at < from.size(); at += kPieceFloats) {
    const auto piece = from.subspan(at, std::min(kPieceFloats, from.size() - at));
    const auto copy = std::span<float>(own).first(piece.size());
    std::copy(piece.begin(), piece.end(), copy.begin());
    if (!AllWithin(kLargestFloat, copy)) return false;
    (void)CopyFinite(to.data() + at, copy, kind);
  }
  return true;
}

}  // namespace

ShardCenter::ShardCenter(const ShardSettings& settings, const ParameterLayout& layout,
                         PartRange range, std::size_t statistics)
    : settings_(settings),
      range_(range),
      statistics_(statistics),
      optimizer_(MakeOptimizer(settings.optimizer, layout, {range.begin, range.count})) {
  const bool gradients = settings.rule.form == PushForm::kGradient;
  if (gradients) plain_ = dynamic_cast<Sgd*>(optimizer_.get());
  const bool in_pieces = plain_ && !IsSynchronous(settings.rule.name);
  scratch_ = AlignedFloats(in_pieces ? kPieceFloats : range.count);
  pool_ = std::make_unique<PushBlockPool>(block_floats());
  block_ = std::make_shared<Block>(block_floats());
}

std::shared_ptr<const Block> ShardCenter::Share() {
  is_out_ = true;
  return block_;
}

std::span<float> ShardCenter::Renewed() {
  // guard: AnyOptimizer.AnAnswerIsNotWrittenAnyMore/1: a center that is out as an answer is not
  //   written any more
  if (is_out_) {
    auto next = pool_->Acquire();
    std::copy(block_->floats().begin(), block_->floats().end(), next->floats().begin());
    block_ = std::move(next);
    is_out_ = false;
  }
  return block_->floats();
}

bool ShardCenter::Begin(std::span<const float> parameters) {
  const std::span<float> beginning = Renewed().first(range_.count);
  std::copy_n(parameters.begin(), range_.count, beginning.begin());
  return AllFinite(beginning);
}

/// Each number is stepped by itself, so it is read, stepped, checked and put into the next center
/// in one pass. A next center that is not finite is forgotten. One that is too large for the cache
/// goes past it, piece by piece, because its lines need not be read then.
bool ShardCenter::StepIntoNext(float learning_rate, float scale,
                               std::span<const float> contribution) {
  auto next = pool_->Acquire();
  const std::span<const float> from = trained();
  const std::span<float> to = next->floats().first(range_.count);
  if (range_.count <= kLargeFloats) {
    if (!plain_->StepInto(learning_rate, scale, from, contribution, to)) return false;
  } else {
    for (std::size_t at = 0; at < to.size(); at += kPieceFloats) {
      const std::size_t count = std::min(kPieceFloats, to.size() - at);
      const auto piece = std::span(scratch_).first(count);
      (void)plain_->StepInto(learning_rate, scale, from.subspan(at, count),
                             contribution.subspan(at, count), piece);
      if (!CopyFinite(to.data() + at, piece, CopyKind::kPastCache)) return false;
    }
  }
  plain_->Count();
  block_ = std::move(next);
  is_out_ = false;
  return true;
}

std::optional<float> ShardCenter::Merge(Push push, std::shared_ptr<Block>* elastic) {
  if (plain_) {
    const float scale = MergeScale(settings_.rule, push, trained());
    if (!StepIntoNext(push.learning_rate, scale, push.contribution)) return std::nullopt;
    return scale;
  }
  const auto contribution = std::span(scratch_).first(range_.count);
  if (!CopySmall(push.contribution, contribution)) return std::nullopt;
  push.contribution = contribution;
  if (AnswerIsElastic(settings_.rule.name)) *elastic = pool_->Acquire();
  return murmurate::Merge(settings_.rule, push, Renewed().first(range_.count), optimizer_.get(),
                          *elastic ? (*elastic)->floats().first(range_.count) : std::span<float>());
}

std::shared_ptr<Block> ShardCenter::Copy(std::span<const float> contribution) {
  auto block = pool_->Acquire();
  if (!CopySmall(contribution, block->floats().first(range_.count))) return nullptr;
  return block;
}

void ShardCenter::MergeRound(std::span<const RoundPart> parts, float learning_rate) {
  (void)murmurate::MergeRound(settings_.rule, parts, {learning_rate, settings_.max_grad_norm},
                              scratch_, Renewed().first(range_.count), optimizer_.get());
}

Result<std::shared_ptr<ShardSegment>> ShardCenter::ShareAnswers(std::uint32_t slots,
                                                                std::uint64_t wakeup) {
  if (shared_) return shared_;
  auto segment = ShardSegment::Create(block_floats(), slots, wakeup);
  if (!segment.ok()) return segment.status();
  shared_ = *segment;
  pool_ = std::make_unique<PushBlockPool>(block_floats(), shared_);
  is_out_ = true;
  (void)Renewed();
  return segment;
}

void ShardCenter::Save(SavedState* state, const StateWriter& writer) const {
  writer.Floats("center", trained());
  optimizer_->Save(StateWriter(state, "optimizer"));
}

Status ShardCenter::Load(const SavedState& state, const StateReader& reader) {
  MURMURATE_RETURN_IF_ERROR(reader.Floats("center", Renewed().first(range_.count)));
  return optimizer_->Load(StateReader(state, "optimizer"));
}

}  // namespace murmurate
