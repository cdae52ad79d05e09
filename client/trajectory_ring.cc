#include "client/trajectory_ring.h"

#include <algorithm>
#include <limits>

namespace murmurate {
namespace {

enum Place : std::uint64_t { kFree = 0, kFilling = 1, kReady = 2, kSending = 3 };

Place PlaceOf(std::uint64_t word) { return static_cast<Place>(word & 3); }

}  // namespace

TrajectoryRing::TrajectoryRing(const TrajectoryLayout& layout, std::uint64_t spec_hash)
    : layout_(layout),
      spec_hash_(spec_hash),
      storage_(kBlocks * layout.block_bytes / sizeof(float)) {
  for (int i = 0; i < kBlocks; ++i) {
    blocks_[i].data = reinterpret_cast<std::byte*>(storage_.data()) + i * layout.block_bytes;
  }
}

TrajectoryBlock* TrajectoryRing::TakeFree() {
  for (TrajectoryBlock& block : blocks_) {
    if (PlaceOf(block.word.load(std::memory_order_acquire)) != kFree) continue;
    block.word.store(kFilling, std::memory_order_relaxed);
    return &block;
  }
  return nullptr;
}

bool TrajectoryRing::HasFree() const {
  return std::any_of(blocks_.begin(), blocks_.end(), [](const TrajectoryBlock& block) {
    return PlaceOf(block.word.load(std::memory_order_seq_cst)) == kFree;
  });
}

TrajectoryBlock* TrajectoryRing::FindLowestReady(std::uint64_t* word) {
  TrajectoryBlock* lowest = nullptr;
  *word = std::numeric_limits<std::uint64_t>::max();
  for (TrajectoryBlock& block : blocks_) {
    const std::uint64_t seen = block.word.load(std::memory_order_acquire);
    if (PlaceOf(seen) != kReady || seen >= *word) continue;
    lowest = &block;
    *word = seen;
  }
  return lowest;
}

TrajectoryBlock* TrajectoryRing::TakeLowestReady(std::uint64_t into) {
  std::uint64_t seen, again;
  for (;;) {
    TrajectoryBlock* lowest = FindLowestReady(&seen);
    if (lowest == nullptr) return nullptr;
    // Whoever handed this one over had handed over all earlier ones: a second look must see them,
    // though the first may have passed their places too soon.
    if (FindLowestReady(&again) != lowest || again != seen) continue;
    const std::uint64_t taken = (seen & ~std::uint64_t{3}) | into;
    if (lowest->word.compare_exchange_strong(seen, taken, std::memory_order_acq_rel)) {
      return lowest;
    }
  }
}

TrajectoryBlock* TrajectoryRing::TakeBackOldest() { return TakeLowestReady(kFilling); }
TrajectoryBlock* TrajectoryRing::TakeReady() { return TakeLowestReady(kSending); }

void TrajectoryRing::HandOver(TrajectoryBlock* block) {
  // seq_cst: the caller reads next whether the sender sleeps, and the sender reads words before it
  // does.
  block->word.store(++handed_over_ << 2 | kReady, std::memory_order_seq_cst);
}

void TrajectoryRing::GiveBack(TrajectoryBlock* block) {
  block->word.store(kFree, std::memory_order_release);
}

int TrajectoryRing::ReadyCount() const {
  return static_cast<int>(
      std::count_if(blocks_.begin(), blocks_.end(), [](const TrajectoryBlock& block) {
        return PlaceOf(block.word.load(std::memory_order_seq_cst)) == kReady;
      }));
}

bool TrajectoryRing::HasReady() const { return ReadyCount() > 0; }

void TrajectoryRing::Release(TrajectoryBlock* block) {
  block->word.store(kFree, std::memory_order_seq_cst);
}

std::array<ColumnRange, kColumnCount> TrajectoryRing::FilledColumns(const TrajectoryBlock* block,
                                                                    std::size_t* bytes) const {
  const std::size_t steps = static_cast<std::size_t>(block->steps);
  std::array<ColumnRange, kColumnCount> filled{};
  *bytes = 0;
  const auto fill = [&](Column column, std::size_t size) {
    if (size == 0) return;  // an empty column lies at 0 and reaches nowhere
    ColumnRange& range = filled[static_cast<int>(column)];
    range = {layout_.column(column).offset, static_cast<std::uint32_t>(size)};
    *bytes = std::max<std::size_t>(*bytes, range.offset + size);
  };
  for (const Column column :
       {Column::kObservation, Column::kAction, Column::kLogProb, Column::kReward, Column::kFlags,
        Column::kNextObservation, Column::kState0, Column::kFrames0}) {
    fill(column, layout_.FilledBytes(column, steps));
  }
  if (block->masked) fill(Column::kMask, layout_.FilledBytes(Column::kMask, steps));
  fill(Column::kFinalObservation, static_cast<std::size_t>(block->finals) * layout_.row_bytes());
  fill(Column::kEpisodes, static_cast<std::size_t>(block->episodes) * sizeof(EpisodeRecord));
  return filled;
}

}  // namespace murmurate
