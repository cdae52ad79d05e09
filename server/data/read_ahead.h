// ReadAhead: has the blocks of a feed's items (item_order.h) read from the disk before they are
// needed.
//
// The items of all passes are numbered in the order of turns: those of a pass, then those held out,
// then those of the next pass. The thread that fills the items from `at` asks for the blocks that
// begin as many places further on as a group has, and a quarter more; so when a group begins, all
// of its blocks were asked for, the last of them a quarter of a group ago. Each block is asked for
// once in a pass, whatever the number of threads, since each asks for what belongs to its own turn.
#pragma once

#include <cstdint>

#include "server/data/data_source.h"
#include "server/data/item_order.h"

namespace murmurate {

class ReadAhead {
 public:
  /// `scored`: the source of what is held out, with so many items; null: `source`, a share. All
  /// must outlive it.
  ReadAhead(const ItemOrder& order, const DataSource& source, const DataSource* scored, int passes);

  /// Before the first turn, at place `at`: what is needed from there on, with the whole group that
  /// it is in.
  void Begin(std::uint64_t at) const;
  /// Before `count` items at place `at` are filled.
  void Before(std::uint64_t at, std::uint64_t count) const;

 private:
  void Ask(std::uint64_t from, std::uint64_t to) const;
  void AskFor(std::uint64_t pass, std::uint64_t block, bool held_out) const;

  const ItemOrder* order_;
  const DataSource *source_, *scored_;
  std::uint64_t held_out_, pass_items_, end_, group_items_, distance_;
};

}  // namespace murmurate
