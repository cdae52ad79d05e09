// TrajectoryRing: an agent's blocks on their way to mmr-client and back. One game thread, one
// sender.
//
//   word of a slot = hand-over number << 2 | state
//
//          AcquireFree           HandOver              PopReady             libzmq is done
//   kFree -----------> kFilling -----------> kReady ---------------> kSending -----------> kFree
//     ^                    | ^                  |
//     +---- ReturnUnused ------+ +------------------+
//                              ReclaimOldest: the game's answer to no free block; what was in it
//                              is lost, and counted
//
// The first slot has the agent's own block; the others borrow spare ones of the pool as they are
// taken, and return them as they become free. Both takers compare-and-swap the whole word, number
// included: a block that was taken back, filled and handed over again in between is not mistaken
// for the one that was seen. The sender takes the lowest number first, so blocks leave in the order
// they were played. Shared ownership: a block that lies in libzmq keeps its ring alive.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "client/block_pool.h"
#include "shared/trajectory/trajectory.h"

namespace murmurate {

class TrajectoryRing {
 public:
  static constexpr int kBlocks = 1 + BlockPool::kSpareOfAgent;

  explicit TrajectoryRing(std::shared_ptr<BlockPool> pool);
  ~TrajectoryRing();
  TrajectoryRing(const TrajectoryRing&) = delete;
  TrajectoryRing& operator=(const TrajectoryRing&) = delete;

  // The game's thread.
  /// The agent's own block, else a spare one; null when there is none. It holds nothing.
  TrajectoryBlock* AcquireFree();
  TrajectoryBlock* AcquireSpare();  ///< one with room for every episode; null when there is none
  /// Moves all that was written into `block` to a spare one, which has room for every episode, and
  /// returns `block`; null, and nothing is moved, when it is a spare one itself or there is none.
  TrajectoryBlock* MoveToSpare(TrajectoryBlock* block);
  TrajectoryBlock* ReclaimOldest();  ///< null when none is waiting to be sent
  void HandOver(TrajectoryBlock* block);
  void ReturnUnused(TrajectoryBlock* block);

  // The sender's thread.
  TrajectoryBlock* PopReady();  ///< the first handed over; null when there is none
  bool HasReady() const;

  /// Any thread: frees a block whose bytes are needed no more.
  void Release(TrajectoryBlock* block);

  const BlockPool& pool() const { return *pool_; }
  const TrajectoryLayout& layout() const { return pool_->layout(); }
  std::uint64_t spec_hash() const { return pool_->spec_hash(); }
  template <typename T>
  T* ColumnOf(const TrajectoryBlock* block, Column column) const {
    return reinterpret_cast<T*>(block->data + layout().column(column).offset);
  }
  /// While it is filled: [block->max_episodes], the first block->episodes of them written.
  EpisodeRecord* EpisodesOf(const TrajectoryBlock* block) const {
    return ColumnOf<EpisodeRecord>(block, Column::kEpisodes);
  }
  /// The columns as filled, and in `bytes` how much of the block they reach over.
  std::array<ColumnRange, kColumnCount> FilledColumns(const TrajectoryBlock* block,
                                                      std::size_t* bytes) const;

 private:
  struct Slot {
    std::atomic<std::uint64_t> word{0};
    TrajectoryBlock* block = nullptr;  ///< written before `word`, read after it
  };
  Slot* FindLowestReady(std::uint64_t* word);
  TrajectoryBlock* PopLowestReady(std::uint64_t into);
  void Free(TrajectoryBlock* block, std::memory_order order);
  void MoveEpisodes(TrajectoryBlock* block, std::size_t from, std::size_t to);
  std::array<ColumnRange, kColumnCount> AllButEpisodes(const TrajectoryBlock* block,
                                                       std::size_t* bytes) const;

  const std::shared_ptr<BlockPool> pool_;
  std::array<Slot, kBlocks> slots_;
  std::uint64_t handed_over_ = 0;
};

}  // namespace murmurate
