// DataFeed: a DataSource made into the batches of an ExperienceChannel, as ingest makes them of
// what actors send, so that the learning thread knows no difference. Its threads (mmr-data, .2,
// ...) shuffle and fill the next batches while the current one trains.
//
//   mmr-data.N  empty batch --take a turn, fill--> in order of turns --ready--> mmr-learn
//                    ^                                                              |
//                    +------------------------------ empty -------------------------+
//
// Turn t stands for one batch and says alone what is in it, so the order in which threads come does
// not matter and the same seed gives the same batches. A pass is every item that is not held out,
// once, in an order of its own (item_order.h); after each pass come the held-out items, in batches
// marked as such. They are a share, drawn once, by the seed, or what the source has to be scored.
// Where the order is by blocks, they are read ahead (read_ahead.h).
//
// Several learners of one model divide the items: of what is not held out, in an order that no seed
// changes, each takes every parts-th, or, where the order is by blocks, a stretch. So together they
// learn from every item once a pass, and none learns from what another holds out: that share is
// drawn alike for all of them.
//
// The number of turns trained on is where a run is in its files: Save and Load are that number,
// with what must be the same for it to mean the same. The blocks are among this, and a run that
// goes on keeps those that it was saved with. Items read ahead do not count.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "server/data/data_source.h"
#include "server/data/item_order.h"
#include "server/data/read_ahead.h"
#include "server/experience/experience_channel.h"
#include "shared/model/state.h"

namespace murmurate {

struct DataFeedSettings {
  std::uint64_t seed = 1;
  int passes = 1;
  double holdout = 0.0;  ///< share of the items that are never learned from, in [0, 1); 0 where the
                         ///< source has items to be scored
  std::uint64_t most_steps = UINT64_MAX;  ///< the batch that reaches it is the last
  FeedPart part = {};
};

class DataFeed {
 public:
  /// `on_end` is called once, on the learning thread or a thread of the feed: kOk when all passes
  /// or `most_steps` are trained on, else why the source could not be read. The source must be
  /// prepared, and have an item to learn from besides those held out.
  DataFeed(std::shared_ptr<ExperienceChannel> channel, std::shared_ptr<const DataSource> source,
           const DataFeedSettings& settings, std::function<void(Status)> on_end);

  /// Items that all parts together learn from, of which `share` is held out.
  static std::uint64_t LearnedItems(const DataSource& source, double share);

  /// Saves between batches, on the learning thread or after it has ended. In the middle of held-out
  /// items it saves where they begin, so that a run that goes on scores all of them again.
  void Save(const StateWriter& writer) const;
  /// Goes on, before the first PollOnce, behind the batches that were trained on, and sets the
  /// channel's environment steps. In one sentence: kInvalidData when nothing was saved or a file
  /// has another size, other items or another fingerprint than then, kInvalidArgument when the
  /// seed, the batches, the share held out or the part are others, or nothing is left to learn
  /// from.
  Status Load(const StateReader& reader);
  /// True if so many passes over the saved run's files are trained on.
  static bool IsThrough(const StateReader& reader, int passes);

  /// Takes an empty batch, waiting up to `timeout`, fills it and hands it on; on any number of
  /// threads. False when there was none, or nothing is left.
  bool PollOnce(std::chrono::milliseconds timeout);
  /// The learning thread, once for each batch it has trained on: counts its steps, notices the end.
  void OnTrained();
  /// Makes PollOnce do nothing from now on, and threads that wait inside return.
  void Stop();

  std::uint64_t learned_items() const { return order_->learned(); }  ///< of one pass
  std::uint64_t held_out_items() const { return scored_ ? scored_->items() : order_->held_out(); }

 private:
  struct Turn {
    bool held_out = false;
    std::uint64_t pass = 0, first = 0, count = 0;  ///< places in the pass's order
  };

  void Arrange(const ReadBlocks& blocks);
  Status CheckFiles(const StateReader& reader) const;
  Status CheckPart(const StateReader& reader) const;
  Turn TurnAt(std::uint64_t number) const;
  Status Fill(const Turn& turn, std::vector<std::uint64_t>& items, TrainingBatch* batch) const;
  void BeginToRead(std::uint64_t number, const Turn& turn) const;
  void HandOver(std::uint64_t number, const Turn& turn, std::unique_ptr<TrainingBatch> batch,
                Status filled);
  void End(Status status);

  const std::shared_ptr<ExperienceChannel> channel_;
  const std::shared_ptr<const DataSource> source_;
  const DataFeedSettings settings_;
  const std::function<void(Status)> on_end_;
  const DataSource* const scored_;  ///< null: the share
  std::unique_ptr<const ItemOrder> order_;
  std::unique_ptr<const ReadAhead> ahead_;
  std::uint64_t batch_items_ = 0, training_turns_ = 0, pass_turns_ = 0, turns_ = 0;

  mutable std::mutex mutex_;
  std::condition_variable turned_;
  std::vector<std::vector<std::uint64_t>> spare_items_;
  std::uint64_t first_turn_ = 0;
  std::uint64_t next_turn_ = 0;  ///< to be taken
  std::uint64_t handed_over_ = 0;
  std::deque<std::uint64_t> sent_;  ///< of each batch handed on: steps up to its end
  std::uint64_t steps_ = 0;         ///< handed over
  std::uint64_t trained_ = 0;       ///< turns
  bool stopped_ = false, ended_ = false;
};

}  // namespace murmurate
