// ShardPiece: what a worker keeps for one shard: the link, and the blocks that go through it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "server/parameters/push_block_pool.h"
#include "server/parameters/shard_link.h"

namespace murmurate {

struct ShardPiece {
  std::unique_ptr<ShardLink> link;
  PushBlockPool pool;
  std::shared_ptr<Block> window;        ///< gradient form: where they are summed
  std::shared_ptr<const Block> pushed;  ///< under way
  std::uint64_t version = 0;

  const PartRange& range() const { return link->options().range; }
  /// What follows the numbers of a block: shard 0's statistics.
  template <typename T>
  std::span<T> StatisticsIn(std::span<T> block) const {
    return block.subspan(range().count, link->options().statistics);
  }
  template <typename T>
  std::span<T> Of(std::span<T> trained) const {
    return trained.subspan(range().begin, range().count);
  }
};

}  // namespace murmurate
