// TrajectoryRing: an agent's blocks on their way to mmr-client and back. One game thread, one
// sender.
//
//   word of a block = hand-over number << 2 | place
//
//          TakeFree              HandOver              TakeReady            libzmq is done
//   kFree -----------> kFilling -----------> kReady ---------------> kSending -----------> kFree
//     ^                    | ^                  |
//     +---- GiveBack ------+ +------------------+
//                              TakeBackOldest: the game's answer to no free block; what was in it
//                              is lost, and counted
//
// Both takers compare-and-swap the whole word, number included: a block that was taken back, filled
// and handed over again in between is not mistaken for the one that was seen. The sender takes the
// lowest number first, so blocks leave in the order they were played. Shared ownership: a block
// that lies in libzmq keeps its ring alive.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "shared/core/aligned_floats.h"
#include "shared/experience/trajectory.h"
#include "shared/weights/weights.h"

namespace murmurate {

inline constexpr int kMaxReports = 16;

/// One named number that the game reported: summed over episodes. Indexed by the agent's name
/// table.
struct ReportSum {
  double sum = 0.0;
  std::uint32_t count = 0;  ///< episodes
};
using ReportSums = std::array<ReportSum, kMaxReports>;

struct alignas(64) TrajectoryBlock {
  std::atomic<std::uint64_t> word{0};
  std::byte* data = nullptr;
  // Written by the game while kFilling, read by whoever took it.
  VersionStamp stamp;
  std::uint64_t first_step = 0, agent_steps = 0;
  int steps = 0, finals = 0, episodes = 0;
  bool masked = false;  ///< the mask column is filled
  ReportSums reports{};
};

class TrajectoryRing {
 public:
  static constexpr int kBlocks = 8;

  /// `spec_hash`: ModelSpec::ShortHash() of the model it is for: two may have the same layout.
  explicit TrajectoryRing(const TrajectoryLayout& layout, std::uint64_t spec_hash = 0);

  // The game's thread.
  TrajectoryBlock* TakeFree();  ///< null when there is none
  bool HasFree() const;
  TrajectoryBlock* TakeBackOldest();  ///< null when none is waiting to be sent
  void HandOver(TrajectoryBlock* block);
  void GiveBack(TrajectoryBlock* block);

  // The sender's thread.
  TrajectoryBlock* TakeReady();  ///< the first handed over; null when there is none
  bool HasReady() const;
  int ReadyCount() const;

  /// Any thread: the block's bytes are needed no more.
  void Release(TrajectoryBlock* block);

  const TrajectoryLayout& layout() const { return layout_; }
  std::uint64_t spec_hash() const { return spec_hash_; }
  template <typename T>
  T* ColumnOf(const TrajectoryBlock* block, Column column) const {
    return reinterpret_cast<T*>(block->data + layout_.column(column).offset);
  }
  std::span<const EpisodeRecord> Episodes(const TrajectoryBlock* block) const {
    return {ColumnOf<EpisodeRecord>(block, Column::kEpisodes),
            static_cast<std::size_t>(block->episodes)};
  }
  /// The columns as filled, and in `bytes` how much of the block they reach over.
  std::array<ColumnRange, kColumnCount> FilledColumns(const TrajectoryBlock* block,
                                                      std::size_t* bytes) const;

 private:
  TrajectoryBlock* FindLowestReady(std::uint64_t* word);
  TrajectoryBlock* TakeLowestReady(std::uint64_t into);

  const TrajectoryLayout layout_;
  const std::uint64_t spec_hash_;
  AlignedFloats storage_;
  std::array<TrajectoryBlock, kBlocks> blocks_;
  std::uint64_t handed_over_ = 0;
};

}  // namespace murmurate
