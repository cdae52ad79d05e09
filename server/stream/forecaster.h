// Forecaster: what comes of the messages of one stream: rows of each device, forecasts of its
// targets by the newest weights, the error of those that have come due, and the pairs to learn
// from.
//
//   Take(sample)  scores the forecasts made for this row, then remembers it; a pair is complete
//   Predict       a forecast for each row that Take made, all devices of a round in one pass
//   Fill          the complete pairs that nobody has learned, as a batch
//
// Where labels come later, TakeLabel scores and completes the pair of the row they are for
// (late_labels.cc).
//
// Each value is forecast before it is learned from, so the errors are those of forecasts (A. P.
// Dawid, "Present position and potential developments: the prequential approach", 1984). What is
// forecast is the distance from the last value in usual errors of that: a model that says 0 is as
// good as the last value from the first message on. What is published is whichever has erred least
// of late, for this device, target and horizon: the last value, with a season the value of a season
// ago, or the model. Its quantiles are those of the errors of what was published
// (quantile_tracker.h); they are no part of what the model learns.
//
// One thread calls all of it, or several under one mutex; nothing here waits or knows a socket.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "server/experience/training_batch.h"
#include "server/stream/device.h"
#include "server/stream/message_order.h"
#include "server/stream/quantile_tracker.h"
#include "server/stream/sample.h"
#include "server/stream/stream_settings.h"
#include "shared/inference/policy.h"
#include "shared/model/parameter_layout.h"
#include "shared/model/state.h"
#include "shared/weights/weights.h"

namespace murmurate {

/// Of one target at one horizon.
struct Prediction {
  double published = 0;  ///< `model` or `baseline`
  double model = 0;
  double baseline = 0;  ///< the naive forecast: of the last value and the season's the better one
  std::span<const double> quantiles;  ///< as settings.quantiles, ascending, around `published`; NaN
                                      ///< until an error of this device is known
  bool by_model = false;              ///< which of the two is published
  Score score;  ///< of the forecasts that came due so far; its baseline is the better one's
  /// 1 - model's error / baseline's; 0 before both are known.
  double skill() const { return score.baseline > 0 ? 1 - score.model / score.baseline : 0; }
};

/// All that is forecast at one row of one device; valid during the call that gets it.
struct Forecast {
  const std::string& device;
  std::uint64_t row = 0;                       ///< of this device
  std::int64_t time_ns = 0;                    ///< of the row
  std::uint64_t version = 0;                   ///< of the weights; 0: none yet
  std::span<const double> values;              ///< [fields] of the row
  std::span<const Prediction> predictions;     ///< [targets][horizons]
  float gap_s = 0;                             ///< that usually lies between two rows; 0 on a grid
  AlarmChange alarm = AlarmChange::kNone;      ///< what this row did to the device's alarm
  std::optional<std::uint64_t> sequence = {};  ///< of the sample that made the row; none on a grid
  std::string_view id = {};                    ///< of that sample, with late labels
};

class Forecaster {
 public:
  /// What happened since the stream began, over restarts.
  struct Totals {
    std::uint64_t messages = 0;  ///< taken
    std::uint64_t rows = 0;
    std::uint64_t forecasts = 0;  ///< rows that were forecast from
    // Of pairs (late labels): a row counts when it is learned at its farthest horizon.
    std::uint64_t complete = 0;  ///< learned + unlearned + what waits
    std::uint64_t learned = 0;
    std::uint64_t unlearned = 0;  ///< pairs that left the window before anybody had time for them,
                                  ///< or whose device began again or was forgotten
    std::uint64_t gaps = 0;       ///< sequence numbers that have not come
    std::uint64_t breaks = 0;     ///< devices that began again: a silence, a restart, a set clock
    std::uint64_t drifts = 0;     ///< times that the model's errors rose for good
    std::uint64_t late = 0;  ///< of `messages`: overtaken by later ones, by their numbers, or late
                             ///< in a cell that was open
    // What became of the messages. Without a grid, messages = rows + incomplete + skipped; on a
    // grid, where these are cells, messages = rows + incomplete + skipped - empty + joined + open
    // cells.
    std::uint64_t incomplete = 0;  ///< a field has had no value yet, so nothing can stand in for it
    std::uint64_t skipped = 0;  ///< values were missing, and `missing` and `max_gap` allow no row
    std::uint64_t joined = 0;   ///< messages that came to a cell which had one
    std::uint64_t empty = 0;    ///< cells without a message
    /// Means over the last score_over forecasts of all devices, in usual errors of the baseline.
    double model_error = 0, baseline_error = 0, published_error = 0, scored = 0;
    double skill() const { return baseline_error > 0 ? 1 - model_error / baseline_error : 0; }
  };

  using OnForecast = std::function<void(const Forecast&)>;
  /// `spec`: observations are InputsOf numbers if it is recurrent, else those of `window` rows, the
  /// oldest first; actions OutputsOf numbers. `use` is called by Predict, and by Take when a device
  /// has more than one row to forecast from.
  Forecaster(const ForecastSettings& settings, const ModelSpec& spec, OnForecast use);

  /// kNone: it was taken. `arrival_ns`: since 1970, for samples without a time.
  Refusal Take(const Sample& sample, std::int64_t arrival_ns);
  /// With late labels: what came for the row with its device and id; `values` are one a target.
  /// kNone, and it is scored and waits to be learned; kUnknownId, kDuplicate, kMissingField, kNoId.
  Refusal TakeLabel(const Sample& label);
  /// A forecast for each row that has none yet.
  void Predict();
  /// A row of this device waits for Predict.
  bool IsDue(std::string_view device) const;
  /// Cells that have a message and are not rows yet.
  std::size_t open_cells() const;
  /// Of the first device of which no row can be made, though it sends: "device pump-1 has sent 20
  /// messages and none with a value for every field (the last one had none for hum)"; "" while
  /// there is none.
  const std::string& stuck() const { return stuck_; }
  void TakeWeights(const Snapshot& snapshot);
  std::uint64_t version() const { return version_; }

  /// Pairs wait to be learned.
  bool has_pairs() const { return !line_.empty(); }
  /// Fills an empty batch with the pairs that have waited longest, one sequence a device (a plain
  /// model: one a pair). False: there are none.
  bool Fill(TrainingBatch* batch);
  /// The oldest batch filled has been learned: how many pairs that were.
  std::uint64_t OnTrained();

  /// Between batches: with the learner's state of that moment, what is needed to go on.
  void Save(const StateWriter& writer) const;
  Status Load(const StateReader& reader);
  /// Of each device that numbers its messages, the last number in what was saved.
  static Result<std::vector<std::pair<std::string, std::uint64_t>>> SavedSequences(
      const StateReader& reader);

  const Totals& totals() const { return totals_; }
  std::size_t devices() const { return devices_.size(); }
  std::size_t alarms() const { return alarms_; }  ///< devices whose alarm is raised
  std::size_t bytes_per_device() const;           ///< without the name

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };
  using Devices = std::unordered_map<std::string, std::shared_ptr<Device>, Hash, std::equal_to<>>;
  using Unlearned = std::map<std::pair<const Device*, int>, std::uint32_t>;
  struct Errors {
    float model, baseline, published;
  };
  struct Given {
    std::shared_ptr<Device> device;
    std::uint32_t pairs = 0;
    std::uint64_t row = 0;  ///< of a late label
    int horizon = 0;        ///< which of them
  };

  std::shared_ptr<Device> Find(std::string_view name, std::int64_t now_ns);
  bool MakeRoom(std::int64_t now_ns);
  bool Complete(Device* device, std::span<const double> values);
  std::int64_t CellAt(std::int64_t time_ns) const;
  float PutGap(Device* device, float gap_s);
  CellState CellOf(const Device& device, std::int64_t time_ns) const;
  void NoteRowless(Device* device);
  void TakeCell(const std::shared_ptr<Device>& device, std::span<const double> values,
                std::int64_t time_ns);
  void CloseCell(const std::shared_ptr<Device>& device, std::int64_t cell);
  void TakeRow(const std::shared_ptr<Device>& device, std::span<const double> values,
               std::int64_t time_ns, float gap_s);
  double ActualOf(int target, std::span<const double> values) const;
  void ScoreRow(Device* device, std::span<const double> values);
  void ScoreOne(Device* device, int i, std::uint64_t row, double actual);
  void PutRow(Device* device, std::span<const double> values, float gap_s);
  void CountPairs(const std::shared_ptr<Device>& device);
  bool IsOpen(Device* device, std::uint64_t row, int j) const;
  bool PutLabel(Device* device, std::uint64_t row, const HorizonGroup& group,
                std::int32_t* words) const;
  void GiveSequence(const std::shared_ptr<Device>& device, const HorizonGroup& group,
                    TrainingBatch* batch, std::vector<Given>* given);
  void GivePairs(const std::shared_ptr<Device>& device, const HorizonGroup& group,
                 TrainingBatch* batch, std::vector<Given>* given);
  void PutSequence(Device* device, const HorizonGroup& group, std::uint64_t end, std::uint64_t from,
                   TrainingBatch* batch) const;
  void PutPair(Device* device, std::uint64_t row, const HorizonGroup& group,
               TrainingBatch* batch) const;
  void PutWindow(Device* device, std::uint64_t last, float* to) const;
  Refusal SeeId(const Device& device, std::string_view id);
  void OpenLabel(Device* device);
  void PutLastLabel(Device* device, std::span<float> inputs);
  void SeeLabel(Device* device, int i, std::uint64_t row, double value);
  void CountLabel(const std::shared_ptr<Device>& device, std::uint64_t row);
  bool FillLate(TrainingBatch* batch);
  void SeeLastLabel(Device* device);
  void SaveLabels(const StateWriter& writer) const;
  Status LoadLabels(std::span<const std::string> names, const StateReader& reader);
  void Forget(Device* device);
  void BeginAgain(Device* device, const Sample& sample);
  void Drop(Device* device);
  std::uint64_t Meaning() const;
  std::uint32_t OpenOf(std::uint64_t rows, int j, std::uint64_t open) const;
  Unlearned UnlearnedPairs() const;
  void SaveRest(std::span<const std::uint64_t> near, const StateWriter& writer) const;
  Status LoadRest(std::span<Device* const> devices, const StateReader& reader);
  Status GoOnFromBlocks(std::span<Device* const> devices);
  void SaveTotals(std::uint64_t kept, const StateWriter& writer) const;
  Status LoadTotals(bool blocks, const StateReader& reader);
  Device* LoadDevice(const std::string& name, std::span<const std::uint64_t> numbers);
  void StandInLine(const std::shared_ptr<Device>& device);
  void StepTails();
  void StepHeads();
  void StepWindows();
  void ForwardWindows();
  void Answer(Device* device, const float* outputs);
  void AnswerOne(Device* device, int i, float output);
  bool Known(float scored) const;
  bool SeasonLeads(Device* device, int i) const;
  double SeasonOf(Device* device, int i, std::uint64_t row) const;
  void ScoreFleet(Device* device, int i, const Errors& errors);
  float SeasonInput(Device* device, int i, double away) const;
  void ScoreInterval(Device* device, int i, bool inside) const;
  void ScoreSeason(Device* device, int i, float error) const;
  void SeeOutside(Device* device);
  AlarmChange TakeAlarm(Device* device);

  const ForecastSettings settings_;
  const OnForecast use_;
  const bool recurrent_;
  const ParameterLayout layout_;
  Policy policy_;
  const DeviceShape shape_;
  std::uint64_t version_ = 0;
  Devices devices_;
  std::deque<std::shared_ptr<Device>> line_;  ///< have pairs, longest waiting first
  std::deque<std::vector<Given>> given_;      ///< in batches that are not trained on yet
  std::vector<std::shared_ptr<Device>> due_;  ///< whose newest row waits for its forecast
  AlignedFloats inputs_, states_, outputs_, scratch_;
  AlignedFloats leaving_;  ///< of each due device: the row that left its window for the newest one
  std::vector<double> whole_, cell_;
  std::uint64_t row_id_ = 0;  ///< of the row in whole_, with late labels
  std::int64_t next_room_ns_ = 0;
  std::vector<Prediction> predictions_;
  std::vector<QuantileTracker> trackers_;   ///< [scores], with quantiles
  std::vector<float> offsets_;              ///< [quantiles]
  std::vector<AlarmQuantities> alarm_row_;  ///< [targets] of the row that is answered
  std::size_t alarms_ = 0;
  PageHinkley drift_;
  std::vector<char> absent_;  ///< [fields] of the row in whole_: another value stands in
  Totals totals_;
  std::string stuck_;
};

}  // namespace murmurate
