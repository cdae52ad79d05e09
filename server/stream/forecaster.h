// Forecaster: what comes of the messages of one stream: rows of each device, forecasts of its
// targets by the newest weights, the error of those that have come due, and the pairs to learn
// from.
//
//   Consume(sample) --DeviceTable, MessageOrder--> RowMaker --row--> ForecastScores, PairQueue
//   Predict         all due rows in one pass of ForecastNetwork --> ForecastScores, AlarmWatch
//   Fill            complete pairs that have not been learned, as a batch (PairQueue)
//
// Where labels come apart from their samples, each completes the pair of the row it is for
// (label_join.h). Where a message has a label of its own, its row is scored and complete as soon as
// it has been forecast (own_labels.h).
//
// Each value is forecast before it is learned from, so the errors are those of forecasts (A. P.
// Dawid, "Present position and potential developments: the prequential approach", 1984). What is
// forecast is the distance from the last value in usual errors of that: a model that says 0 is as
// good as the last value from the first message on.
//
// One thread calls all of it, or several under one mutex; nothing here waits or knows a socket.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "server/stream/alarm_watch.h"
#include "server/stream/device_table.h"
#include "server/stream/forecast_network.h"
#include "server/stream/forecast_scores.h"
#include "server/stream/label_join.h"
#include "server/stream/own_labels.h"
#include "server/stream/pair_queue.h"
#include "server/stream/row_maker.h"

namespace murmurate {

class Forecaster {
 public:
  struct Counts {
    std::uint64_t messages = 0;  ///< taken
    std::uint64_t rows = 0;
    std::uint64_t forecasts = 0;  ///< rows that were forecast from
    std::uint64_t gaps = 0;       ///< sequence numbers that have not come
    std::uint64_t breaks = 0;     ///< devices that began again: a silence, a restart, a set clock
    std::uint64_t late = 0;  ///< of `messages`: overtaken by later ones, by their numbers, or late
                             ///< in a cell that was open
  };
  /// Totals are counts since the stream began, over restarts.
  struct Totals : Counts,
                  RowMaker::Counts,
                  PairQueue::Counts,
                  ForecastScores::Fleet,
                  LabelJoin::Counts {
    double skill() const { return baseline_error > 0 ? 1 - model_error / baseline_error : 0; }
  };

  using OnForecast = std::function<void(const Forecast&)>;
  /// `spec`: observations are InputsOf numbers if it is recurrent, else those of `window` rows, the
  /// oldest first; actions OutputsOf numbers. `use` is called by Predict, and by Consume when a
  /// device has more than one row to forecast from.
  Forecaster(const ForecastSettings& settings, const ModelSpec& spec, OnForecast use);
  Forecaster(const Forecaster&) = delete;

  /// kNone: it was taken. `arrival_ns`: since 1970, for samples without a time.
  Refusal Consume(const Sample& sample, std::int64_t arrival_ns);
  /// A label that comes apart from its sample; `values` are one a target.
  Refusal ConsumeLabel(const Sample& label, std::int64_t arrival_ns) {
    return labels_.Consume(label, arrival_ns);
  }
  /// A forecast for each row that has none yet.
  void Predict();
  /// A row of this device waits for Predict.
  bool IsDue(std::string_view device) const;
  /// Cells that have a message and are not rows yet.
  std::size_t open_cells() const;
  /// A sentence on the first device that sends but makes no row: "device pump-1 has sent 20
  /// messages and none with a value for every field (the last one had none for hum)"; "" while
  /// there is none.
  const std::string& stuck() const { return rows_.stuck(); }
  void ApplyWeights(const Snapshot& snapshot) { network_.ApplyWeights(snapshot); }
  std::uint64_t version() const { return network_.version(); }

  /// Pairs wait to be learned.
  bool has_pairs() const { return !pairs_.empty(); }
  /// Fills an empty batch with the pairs that have waited longest, one sequence a device (a plain
  /// model: one a pair). False: there are none.
  bool Fill(TrainingBatch* batch) { return pairs_.Fill(version(), batch); }
  /// The oldest batch filled has been learned: how many pairs that were.
  std::uint64_t OnTrained() { return pairs_.OnTrained(); }

  /// Saves, between batches, what is needed to go on beside the learner's state of that moment.
  void Save(const StateWriter& writer) const;
  Status Load(const StateReader& reader);

  Totals totals() const {
    return {counts_, rows_.counts(), pairs_.counts(), scores_.fleet(), labels_.counts()};
  }
  const LabelJoin& labels() const { return labels_; }
  std::uint64_t rows() const { return counts_.rows; }  ///< of the totals
  std::size_t devices() const { return table_.all().size(); }
  std::size_t alarms() const;            ///< devices whose alarm is raised
  std::size_t bytes_per_device() const;  ///< without the name

 private:
  void BeginAgain(StreamDevice* device, const Sample& sample);
  void Break(StreamDevice* device);
  void Forget(StreamDevice* device);
  void AddRow(const std::shared_ptr<StreamDevice>& device, const RowValues& row,
              std::int64_t time_ns, float gap_s);
  void Answer(const std::shared_ptr<StreamDevice>& device, std::span<const float> outputs);

  const ForecastSettings settings_;
  const OnForecast use_;
  const DeviceShape shape_;
  ForecastNetwork network_;
  DeviceTable table_;
  RowMaker rows_;
  ForecastScores scores_;
  AlarmWatch alarm_;
  PairQueue pairs_;
  LabelJoin labels_;
  OwnLabels own_;                                   ///< of the message that is consumed
  std::vector<std::shared_ptr<StreamDevice>> due_;  ///< whose newest row waits for its forecast
  std::vector<Prediction> predictions_;
  Counts counts_;
};

}  // namespace murmurate
