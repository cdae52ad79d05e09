// DataSource: experience that is not played but read: samples of arrays (array_source.h) or
// recorded trajectories (recording_source.h). One item is what is shuffled as a whole.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "murmurate/status.h"
#include "server/experience/training_batch.h"
#include "shared/model/model_spec.h"

namespace murmurate {

/// One that a source reads, as it was when it was opened.
struct DataFile {
  std::string path;
  std::uint64_t bytes = 0, items = 0;  ///< rows, or whole trajectories
  std::uint64_t fingerprint = 0;       ///< of its bytes (fingerprint.h)
};

/// Items that lie together on a disk, where that is what reading them costs.
struct ReadBlocks {
  std::uint64_t items = 0;  ///< of one block; 0: any order costs the same
  std::uint64_t group = 0;  ///< blocks that fit into memory at a time, and are mixed; 0: all
  friend bool operator==(const ReadBlocks&, const ReadBlocks&) = default;
};

/// Immutable once prepared: any number of threads may Fill at once.
class DataSource {
 public:
  virtual ~DataSource() = default;

  virtual const Spaces& spaces() const = 0;
  virtual std::uint64_t items() const = 0;
  /// The source whose items are only scored, instead of a share of these; null: none.
  virtual const DataSource* scored() const { return nullptr; }
  /// Steps in all of them.
  virtual std::uint64_t steps() const = 0;
  /// Steps of its longest item.
  virtual int length() const { return 1; }
  /// Checks before the first Fill that this model can learn from it, in trajectories of `length`;
  /// one sentence if not.
  virtual Status PrepareFor(const ModelSpec& model, int length) = 0;
  /// The number of items that a batch of this size takes.
  virtual std::uint64_t ItemsOf(const TrainingBatch& batch) const = 0;
  /// Fills an empty batch with these items, at most ItemsOf(batch), in this order. kInvalidData
  /// names the file, the item and what is wrong with it. Allocates nothing.
  virtual Status Fill(std::span<const std::uint64_t> items, TrainingBatch* batch) const = 0;
  /// How its items are best shuffled (item_order.h).
  virtual ReadBlocks blocks() const { return {}; }
  /// Begins to read items [first, first + count) from the disk, and waits for nothing.
  virtual void BeginToRead(std::uint64_t /*first*/, std::uint64_t /*count*/) const {}
  /// The files in the order in which they are read: the same files hold the same items.
  virtual std::vector<DataFile> files() const = 0;
  /// "60,000 samples of x.npy"
  virtual std::string Description() const = 0;
  /// What the play in it came to: "250 recorded episodes have a mean return of -612.3"; "": it is
  /// no play, or no episode ended in it.
  virtual std::string Returns() const { return ""; }
  /// Sentences for the log on the files and how they are read.
  virtual std::vector<std::string> Notes() const { return {}; }
};

}  // namespace murmurate
