// PairQueue: the complete pairs of a stream that have not been learned, from the row (or label)
// that completes them to the batch that was trained on. Devices wait in line, the longest waiting
// first.
//
// The rows and labels themselves stay in the rings of their StreamDevice; the newest take the place
// of the oldest, which are unlearned then.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "server/experience/training_batch.h"
#include "server/stream/device.h"

namespace murmurate {

class PairQueue {
 public:
  struct Counts {
    // A row counts when it is learned at its farthest horizon.
    std::uint64_t complete = 0;  ///< learned + unlearned + what waits
    std::uint64_t learned = 0;
    std::uint64_t unlearned = 0;  ///< pairs that left the window before there was time for them, or
                                  ///< whose device began again or was forgotten
  };
  using DevicePointer = std::shared_ptr<StreamDevice>;
  /// How many pairs of a device and a horizon have not been learned.
  using Unlearned = std::map<std::pair<const StreamDevice*, int>, std::uint32_t>;

  /// `settings` outlives it.
  explicit PairQueue(const ForecastSettings& settings) : settings_(settings) {}

  /// The newest row completes the pairs of those that lie a horizon before it; with own labels its
  /// own pair, after its forecast.
  void AddRow(const DevicePointer& device);
  /// Notes that the label with this id will be of the newest row, which takes the place of the one
  /// label_window before it; with late labels only.
  void AwaitLabel(StreamDevice* device, std::uint64_t id);
  /// The label of `row` has come.
  void AddLabel(const DevicePointer& device, std::uint64_t row);
  /// The open pairs of a device will never be learned.
  void Drop(StreamDevice* device);
  /// A device that is loaded waits again for what is open of it.
  void GoOn(const DevicePointer& device);

  bool empty() const { return line_.empty(); }
  /// Fills an empty batch with the pairs that have waited longest, one sequence a device (a plain
  /// model: one a pair). `version`: of the weights. False: there are none.
  bool Fill(std::uint64_t version, TrainingBatch* batch);
  /// The oldest batch filled has been learned: how many pairs that were.
  std::uint64_t OnTrained();

  /// Adds to what is open of all devices what is in batches that are not trained on.
  void AddGiven(Unlearned* pairs) const;
  const Counts& counts() const { return counts_; }
  void GoOnFrom(const Counts& counts) { counts_ = counts; }

 private:
  struct Given {
    DevicePointer device;
    std::uint32_t pairs = 0;   ///< with own labels, rows without one among them
    std::uint64_t row = 0;     ///< of a late label
    int horizon = 0;           ///< which of them
    std::uint32_t learns = 0;  ///< of the pairs
  };

  void AddOwnRow(const DevicePointer& device);
  std::uint32_t CountOpen(StreamDevice* device) const;
  bool Waits(StreamDevice* device) const;
  void StandInLine(const DevicePointer& device);
  void GiveOpen(std::uint64_t version, TrainingBatch* batch, std::vector<Given>* given);
  void GiveLabels(std::uint64_t version, TrainingBatch* batch, std::vector<Given>* given);
  void GiveSequence(const DevicePointer& device, const HorizonGroup& group, std::uint64_t version,
                    TrainingBatch* batch, std::vector<Given>* given) const;
  void GivePairs(const DevicePointer& device, const HorizonGroup& group, std::uint64_t version,
                 TrainingBatch* batch, std::vector<Given>* given) const;

  const ForecastSettings& settings_;
  std::deque<DevicePointer> line_;        ///< have pairs
  std::deque<std::vector<Given>> given_;  ///< in batches that are not trained on yet
  Counts counts_;
};

}  // namespace murmurate
