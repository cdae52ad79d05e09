// BlockPool: the memory of the trajectories of one model's agents, for one spec and one length.
//
//   own     one block an agent, its as long as it lives: a few finished episodes fit
//   spare   shared by all: up to seven more an agent, together at most kSpareBytes (or kLeastSpare
//           blocks, when those are more); room for every episode a trajectory may bring
//
//   own    | observation action log_prob ... final_observation mask | episodes |
//   spare  | the same                                               | episodes .............. |
//
// So what ten thousand agents take does not depend on how far the learner is behind. mmr-client
// adds blocks before an agent gets its buffers, of memory that costs nothing until it is touched;
// spare ones are handed round by a lock-free stack (the last one used comes first, so memory stays
// warm), whose head counts its changes, so that a block that returns is not mistaken (ABA).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "client/platform.h"
#include "shared/trajectory/trajectory.h"
#include "shared/weights/weights.h"

namespace murmurate {

inline constexpr int kMaxReports = 16;

/// One named number that the game reported: summed over episodes. Indexed by the agent's names.
struct ReportSum {
  double sum = 0.0;
  std::uint32_t count = 0;  ///< episodes
};

struct alignas(64) TrajectoryBlock {
  std::byte* data = nullptr;
  ReportSum* reports = nullptr;  ///< [kMaxReports]; zeros unless `reported`
  int max_episodes = 0;
  bool spare = false;
  std::uint8_t slot = 0;    ///< in the ring that has it
  std::uint32_t index = 0;  ///< of a spare one, in the pool
  std::atomic<std::uint32_t> next{0};
  // The game writes these while it fills the block; the thread that receives the block reads them.
  VersionStamp stamp;  ///< of the first step
  VersionChanges changes;
  std::uint64_t first_step = 0, agent_steps = 0;
  int steps = 0, finals = 0, episodes = 0;
  std::uint32_t episodes_offset = 0;  ///< where they lie in a block that was handed over
  bool masked = false;                ///< the mask column is filled
  bool reported = false;
};

class BlockPool {
 public:
  static constexpr int kSpareOfAgent = 7;
  static constexpr std::size_t kSpareBytes = std::size_t{4} << 20;
  static constexpr std::size_t kLeastSpare = 64;

  /// `spec_hash`: ModelSpec::ShortHash() of the model it is for: two may have the same layout.
  explicit BlockPool(TrajectoryLayout layout, std::uint64_t spec_hash = 0);

  const TrajectoryLayout& layout() const { return layout_; }
  std::uint64_t spec_hash() const { return spec_hash_; }
  /// The offset at which the game's thread writes episodes, behind everything else.
  std::size_t episodes_offset() const { return layout_.column(Column::kEpisodes).offset; }

  // For the threads that make or end agents; takes a lock.
  /// Makes the blocks of so many agents, which are about to come, at once.
  void Expect(int agents);
  TrajectoryBlock* AcquireOwn();
  void ReleaseOwn(TrajectoryBlock* block);

  // Any thread, without a lock.
  TrajectoryBlock* AcquireSpare();  ///< null when all are in use
  void ReleaseSpare(TrajectoryBlock* block);

 private:
  /// Blocks made together.
  struct Chunk {
    Chunk(std::size_t count, std::size_t block_bytes, int max_episodes);
    ZeroPages bytes;
    std::unique_ptr<TrajectoryBlock[]> blocks;
  };
  static constexpr int kIndexBits = 24;
  static constexpr std::size_t kMostSpareChunks = 128;

  void AddOwn(std::size_t count);
  void FillUpSpare(std::size_t agents);
  TrajectoryBlock* At(std::uint32_t index) const;

  const TrajectoryLayout layout_;
  const std::uint64_t spec_hash_;

  std::mutex mutex_;
  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::vector<TrajectoryBlock*> free_own_;
  std::size_t agents_ = 0, spare_ = 0, spare_chunk_count_ = 0;

  std::array<std::atomic<TrajectoryBlock*>, kMostSpareChunks> spare_chunks_{};
  alignas(64) std::atomic<std::uint64_t> head_;  ///< number of the change << 32 | index
};

}  // namespace murmurate
