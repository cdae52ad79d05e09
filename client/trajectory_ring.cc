#include "client/trajectory_ring.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

namespace murmurate {
namespace {

enum SlotState : std::uint64_t { kFree = 0, kFilling = 1, kReady = 2, kSending = 3 };

constexpr std::size_t kLine = 64;

SlotState StateOf(std::uint64_t word) { return static_cast<SlotState>(word & 3); }

TrajectoryBlock* Emptied(TrajectoryBlock* block) {
  block->steps = block->finals = block->episodes = 0;
  block->masked = false;
  if (std::exchange(block->reported, false)) std::fill_n(block->reports, kMaxReports, ReportSum{});
  return block;
}

}  // namespace

TrajectoryRing::TrajectoryRing(std::shared_ptr<BlockPool> pool) : pool_(std::move(pool)) {
  slots_[0].block = pool_->AcquireOwn();
  slots_[0].block->slot = 0;
}

TrajectoryRing::~TrajectoryRing() {
  for (std::size_t i = 1; i < slots_.size(); ++i) {
    if (StateOf(slots_[i].word.load(std::memory_order_acquire)) != kFree) {
      pool_->ReleaseSpare(slots_[i].block);
    }
  }
  pool_->ReleaseOwn(slots_[0].block);
}

TrajectoryBlock* TrajectoryRing::AcquireFree() {
  Slot& own = slots_[0];
  if (StateOf(own.word.load(std::memory_order_acquire)) != kFree) return AcquireSpare();
  own.word.store(kFilling, std::memory_order_relaxed);
  return Emptied(own.block);
}

TrajectoryBlock* TrajectoryRing::AcquireSpare() {
  for (std::size_t i = 1; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    if (StateOf(slot.word.load(std::memory_order_acquire)) != kFree) continue;
    TrajectoryBlock* const block = pool_->AcquireSpare();
    if (block == nullptr) return nullptr;
    block->slot = static_cast<std::uint8_t>(i);
    slot.block = block;
    slot.word.store(kFilling, std::memory_order_relaxed);
    return Emptied(block);
  }
  return nullptr;
}

TrajectoryRing::Slot* TrajectoryRing::FindLowestReady(std::uint64_t* word) {
  Slot* lowest = nullptr;
  *word = std::numeric_limits<std::uint64_t>::max();
  for (Slot& slot : slots_) {
    const std::uint64_t seen = slot.word.load(std::memory_order_acquire);
    if (StateOf(seen) != kReady || seen >= *word) continue;
    lowest = &slot;
    *word = seen;
  }
  return lowest;
}

TrajectoryBlock* TrajectoryRing::PopLowestReady(std::uint64_t into) {
  std::uint64_t seen, again;
  for (;;) {
    Slot* lowest = FindLowestReady(&seen);
    if (lowest == nullptr) return nullptr;
    // The game had handed over all earlier ones before this one: a second pass must see them,
    // though the first may have gone by their slots too soon.
    // guard: TrajectoryRing.UnderHammeringNothingIsLostDoubledTornOrOutOfOrder (1 to 4 of 5): the
    //   sender looks twice before it takes the lowest
    if (FindLowestReady(&again) != lowest || again != seen) continue;
    const std::uint64_t taken = (seen & ~std::uint64_t{3}) | into;
    // guard: TrajectoryRing.UnderHammeringNothingIsLostDoubledTornOrOutOfOrder (1 to 3 of 5): game
    //   and sender take a block by compare-and-swap of a word that holds its number
    if (lowest->word.compare_exchange_strong(seen, taken, std::memory_order_acq_rel)) {
      return lowest->block;
    }
  }
}

TrajectoryBlock* TrajectoryRing::PopReady() { return PopLowestReady(kSending); }

TrajectoryBlock* TrajectoryRing::ReclaimOldest() {
  TrajectoryBlock* const block = PopLowestReady(kFilling);
  if (block != nullptr) MoveEpisodes(block, block->episodes_offset, pool_->episodes_offset());
  return block;
}

void TrajectoryRing::MoveEpisodes(TrajectoryBlock* block, std::size_t from, std::size_t to) {
  if (from == to) return;
  std::memmove(block->data + to, block->data + from,
               static_cast<std::size_t>(block->episodes) * sizeof(EpisodeRecord));
}

void TrajectoryRing::HandOver(TrajectoryBlock* block) {
  std::size_t bytes = 0;
  (void)AllButEpisodes(block, &bytes);
  block->episodes_offset = static_cast<std::uint32_t>((bytes + kLine - 1) / kLine * kLine);
  MoveEpisodes(block, pool_->episodes_offset(), block->episodes_offset);
  // seq_cst: the caller reads next whether the sender sleeps, and the sender reads words before it
  // does.
  slots_[block->slot].word.store(++handed_over_ << 2 | kReady, std::memory_order_seq_cst);
}

/// The block goes first: once its slot is free, the game may borrow another for it.
void TrajectoryRing::Free(TrajectoryBlock* block, std::memory_order order) {
  Slot& slot = slots_[block->slot];
  if (block->spare) pool_->ReleaseSpare(block);
  slot.word.store(kFree, order);
}

void TrajectoryRing::ReturnUnused(TrajectoryBlock* block) {
  Free(block, std::memory_order_release);
}
TrajectoryBlock* TrajectoryRing::MoveToSpare(TrajectoryBlock* block) {
  TrajectoryBlock* const to = block->spare ? nullptr : AcquireSpare();
  if (to == nullptr) return nullptr;
  std::memcpy(to->data, block->data, pool().episodes_offset());
  std::copy_n(EpisodesOf(block), block->episodes, EpisodesOf(to));
  std::copy_n(block->reports, kMaxReports, to->reports);
  to->stamp = block->stamp;
  to->changes = block->changes;
  to->first_step = block->first_step;
  to->steps = block->steps;
  to->finals = block->finals;
  to->episodes = block->episodes;
  to->masked = block->masked;
  to->reported = block->reported;
  ReturnUnused(block);
  return to;
}

void TrajectoryRing::Release(TrajectoryBlock* block) { Free(block, std::memory_order_seq_cst); }

bool TrajectoryRing::HasReady() const {
  return std::any_of(slots_.begin(), slots_.end(), [](const Slot& slot) {
    return StateOf(slot.word.load(std::memory_order_seq_cst)) == kReady;
  });
}

std::array<ColumnRange, kColumnCount> TrajectoryRing::AllButEpisodes(const TrajectoryBlock* block,
                                                                     std::size_t* bytes) const {
  const std::size_t steps = static_cast<std::size_t>(block->steps);
  std::array<ColumnRange, kColumnCount> filled{};
  *bytes = 0;
  const auto fill = [&](Column column, std::size_t size) {
    if (size == 0) return;  // an empty column lies at 0 and reaches nowhere
    ColumnRange& range = filled[static_cast<int>(column)];
    range = {layout().column(column).offset, static_cast<std::uint32_t>(size)};
    *bytes = std::max<std::size_t>(*bytes, range.offset + size);
  };
  for (const Column column :
       {Column::kObservation, Column::kAction, Column::kLogProb, Column::kReward, Column::kFlags,
        Column::kNextObservation, Column::kState0, Column::kFrames0}) {
    fill(column, layout().FilledBytes(column, steps));
  }
  if (block->masked) fill(Column::kMask, layout().FilledBytes(Column::kMask, steps));
  fill(Column::kFinalObservation, static_cast<std::size_t>(block->finals) * layout().row_bytes());
  return filled;
}

std::array<ColumnRange, kColumnCount> TrajectoryRing::FilledColumns(const TrajectoryBlock* block,
                                                                    std::size_t* bytes) const {
  auto filled = AllButEpisodes(block, bytes);
  if (block->episodes == 0) return filled;
  const std::size_t size = static_cast<std::size_t>(block->episodes) * sizeof(EpisodeRecord);
  filled[static_cast<int>(Column::kEpisodes)] = {block->episodes_offset,
                                                 static_cast<std::uint32_t>(size)};
  *bytes = block->episodes_offset + size;
  return filled;
}

}  // namespace murmurate
