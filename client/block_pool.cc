#include "client/block_pool.h"

#include <algorithm>
#include <utility>

#include "shared/core/check.h"

namespace murmurate {
namespace {

constexpr std::uint32_t kNobody = ~0u;
constexpr std::size_t kLine = 64;
constexpr std::size_t kReportBytes = kMaxReports * sizeof(ReportSum);

std::size_t RoundUp(std::size_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

std::size_t EpisodeBytes(int episodes) {
  return static_cast<std::size_t>(episodes) * sizeof(EpisodeRecord);
}

/// As many episodes as a trajectory has final observations, at least 16; more need a spare block.
int FewEpisodes(const TrajectoryLayout& layout) {
  return std::min(layout.max_episodes, std::max(16, layout.length / 8));
}

}  // namespace

BlockPool::Chunk::Chunk(std::size_t count, std::size_t block_bytes, int max_episodes)
    : bytes(count * (block_bytes + kReportBytes)), blocks(new TrajectoryBlock[count]) {
  ReportSum* const reports = reinterpret_cast<ReportSum*>(bytes.data() + count * block_bytes);
  for (std::size_t i = 0; i < count; ++i) {
    blocks[i].data = bytes.data() + i * block_bytes;
    blocks[i].reports = reports + i * kMaxReports;
    blocks[i].max_episodes = max_episodes;
  }
}

BlockPool::BlockPool(TrajectoryLayout layout, std::uint64_t spec_hash)
    : layout_(std::move(layout)), spec_hash_(spec_hash), head_(kNobody) {}

void BlockPool::AddOwn(std::size_t count) {
  const int episodes = FewEpisodes(layout_);
  const std::size_t bytes = RoundUp(episodes_offset() + EpisodeBytes(episodes));
  const Chunk& chunk = *chunks_.emplace_back(std::make_unique<Chunk>(count, bytes, episodes));
  for (std::size_t i = count; i-- > 0;) free_own_.push_back(&chunk.blocks[i]);
}

void BlockPool::FillUpSpare(std::size_t agents) {
  const std::size_t most = std::max(kLeastSpare, kSpareBytes / layout_.block_bytes);
  const std::size_t wanted = std::min(kSpareOfAgent * agents, most);
  if (wanted <= spare_) return;
  // Half as many again when agents come one by one: there are few chunks then.
  const std::size_t count = std::min(std::max(wanted - spare_, spare_ / 2), most - spare_);
  MURMURATE_CHECK(spare_chunk_count_ < kMostSpareChunks, "spare blocks grow in large chunks");
  Chunk& chunk = *chunks_.emplace_back(
      std::make_unique<Chunk>(count, layout_.block_bytes, layout_.max_episodes));
  const std::size_t number = spare_chunk_count_++;
  spare_chunks_[number].store(chunk.blocks.get(), std::memory_order_release);
  spare_ += count;
  for (std::size_t i = count; i-- > 0;) {
    chunk.blocks[i].spare = true;
    chunk.blocks[i].index = static_cast<std::uint32_t>(number << kIndexBits | i);
    ReleaseSpare(&chunk.blocks[i]);
  }
}

void BlockPool::Expect(int agents) {
  const std::size_t count = static_cast<std::size_t>(std::max(agents, 0));
  const std::lock_guard lock(mutex_);
  if (count > free_own_.size()) AddOwn(count - free_own_.size());
  FillUpSpare(agents_ + count);
}

TrajectoryBlock* BlockPool::AcquireOwn() {
  const std::lock_guard lock(mutex_);
  if (free_own_.empty()) AddOwn(1);
  FillUpSpare(++agents_);
  TrajectoryBlock* const block = free_own_.back();
  free_own_.pop_back();
  return block;
}

void BlockPool::ReleaseOwn(TrajectoryBlock* block) {
  const std::lock_guard lock(mutex_);
  --agents_;
  free_own_.push_back(block);
}

TrajectoryBlock* BlockPool::At(std::uint32_t index) const {
  TrajectoryBlock* const chunk = spare_chunks_[index >> kIndexBits].load(std::memory_order_acquire);
  return chunk + (index & ((1u << kIndexBits) - 1));
}

TrajectoryBlock* BlockPool::AcquireSpare() {
  std::uint64_t head = head_.load(std::memory_order_acquire);
  for (;;) {
    const std::uint32_t index = static_cast<std::uint32_t>(head);
    if (index == kNobody) return nullptr;
    TrajectoryBlock* const block = At(index);
    // guard: BlockPool.UnderHammeringNoBlockIsInTwoHands (3 of 5): the head of the stack of spare
    //   blocks counts its changes
    const std::uint64_t change = ((head >> 32) + 1) << 32;
    const std::uint64_t after = change | block->next.load(std::memory_order_relaxed);
    if (head_.compare_exchange_weak(head, after, std::memory_order_acq_rel,
                                    std::memory_order_acquire)) {
      return block;
    }
  }
}

void BlockPool::ReleaseSpare(TrajectoryBlock* block) {
  std::uint64_t head = head_.load(std::memory_order_relaxed);
  for (;;) {
    block->next.store(static_cast<std::uint32_t>(head), std::memory_order_relaxed);
    const std::uint64_t after = ((head >> 32) + 1) << 32 | block->index;
    if (head_.compare_exchange_weak(head, after, std::memory_order_acq_rel,
                                    std::memory_order_relaxed)) {
      return;
    }
  }
}

}  // namespace murmurate
