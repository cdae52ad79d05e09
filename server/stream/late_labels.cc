// Forecaster where labels come later: what is forecast at a row is what a label says of that very
// row, joined to it by its id, whenever it comes and in whatever order. The forecast that counts is
// the one made as the row came, with what was known then (test, then train, with a delay: M.
// Grzenda, H. M. Gomes, A. Bifet, "Delayed labelling evaluation for data streams", Data Mining and
// Knowledge Discovery 34, 2020). Each row is seen through its own window, by a model without memory
// of the rows before: a state that has gone on is no place to learn an old row from.
#include <algorithm>
#include <cmath>
#include <limits>

#include "server/stream/forecaster.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr float kMostErrors = 10.0f;

}  // namespace

/// Of a sample: what its label will be joined by.
Refusal Forecaster::SeeId(const Device& device, std::string_view id) {
  if (id.empty()) return Refusal::kNoId;
  row_id_ = LabelSlots::HashOf(id);
  return device.labels.Find(row_id_, device.rows) ? Refusal::kDuplicate : Refusal::kNone;
}

/// The row that just came takes the place of the one label_window before it.
void Forecaster::OpenLabel(Device* device) {
  if (device->labels.Begin(device->rows - 1, row_id_) != LabelSlots::State::kWaiting) return;
  --device->open;
  ++totals_.unlearned;
}

/// What the newest row has beside its fields: the naive forecast, which is the label of the newest
/// row that has one, and for the model how far that lies from usual labels.
void Forecaster::PutLastLabel(Device* device, std::span<float> inputs) {
  const auto last = device->Numbers(shape_.label_last, shape_.targets);
  const auto mean = device->Numbers(shape_.label_mean, shape_.targets);
  for (int i = 0; i < shape_.targets; ++i) {
    const double naive = device->label_row == 0 ? kNaN : last[i];
    device->Target(device->rows, i) = kNaN;
    device->RowNaive(device->rows, i) = naive;
    const auto away = static_cast<float>((naive - mean[i]) / device->UsualError(i));
    inputs[i] = std::isfinite(away) ? std::clamp(away, -kMostErrors, kMostErrors) : 0.0f;
  }
}

Refusal Forecaster::TakeLabel(const Sample& label) {
  if (label.id.empty()) return Refusal::kNoId;
  const auto found = devices_.find(label.device);
  if (found == devices_.end()) return Refusal::kUnknownId;
  const std::shared_ptr<Device> device = found->second;
  const auto row = device->labels.Find(LabelSlots::HashOf(label.id), device->rows);
  if (!row) return Refusal::kUnknownId;
  if (device->labels.StateOf(*row) != LabelSlots::State::kOpen) return Refusal::kDuplicate;
  if (!std::ranges::all_of(label.values, Usable)) return Refusal::kMissingField;
  if (device->due) Predict();  // perhaps of this row
  for (int i = 0; i < shape_.targets; ++i) SeeLabel(device.get(), i, *row, label.values[i]);
  float& seen = device->block[shape_.labels_seen];
  seen = std::min(seen + 1.0f, static_cast<float>(settings_.normalize_over));
  device->label_row = std::max(device->label_row, *row + 1);
  CountLabel(device, *row);
  return Refusal::kNone;
}

/// Scores what was forecast at `row`, and keeps what is to be learned.
void Forecaster::SeeLabel(Device* device, int i, std::uint64_t row, double value) {
  const auto each = static_cast<std::size_t>(shape_.outputs / shape_.scores);
  const auto made = device->Forecasts(row).subspan(static_cast<std::size_t>(i) * each, each);
  const bool interval = each > 2 && Known(device->ScoreAt(i).count);
  const bool outside = interval && (value < made[1] || value > made[each - 1]);
  ScoreOne(device, i, row, value);
  device->Target(row, i) = value;
  double& mean = device->Numbers(shape_.label_mean, shape_.targets)[i];
  mean += (value - mean) /
          std::min<double>(device->block[shape_.labels_seen] + 1.0, settings_.normalize_over);
  if (row + 1 < device->label_row) return;
  device->Numbers(shape_.label_last, shape_.targets)[i] = value;
  device->At(shape_.label_outside, shape_.targets)[i] = outside ? 1.0f : 0.0f;
}

void Forecaster::CountLabel(const std::shared_ptr<Device>& device, std::uint64_t row) {
  device->labels.Set(row, settings_.learn ? LabelSlots::State::kWaiting : LabelSlots::State::kDone);
  if (!settings_.learn) return;
  ++totals_.complete;
  ++device->open;
  StandInLine(device);
}

/// Of each label the window of its row; only what stands in its last row is learned.
bool Forecaster::FillLate(TrainingBatch* batch) {
  std::vector<Given> given;
  while (!line_.empty() && !batch->full()) {
    const std::shared_ptr<Device> device = line_.front();
    while (device->open > 0 && !batch->full()) {
      const std::uint64_t row = device->labels.OldestWaiting(device->rows);
      if (recurrent_) PutSequence(device.get(), shape_.groups[0], row + 1, row, batch);
      if (!recurrent_) PutPair(device.get(), row, shape_.groups[0], batch);
      device->labels.Set(row, LabelSlots::State::kGiven);
      --device->open;
      given.push_back({device, 1, row, 0});
    }
    if (device->open > 0) break;
    device->in_line = false;
    line_.pop_front();
  }
  if (given.empty()) return false;
  given_.push_back(std::move(given));
  return true;
}

/// The quantities of an alarm that a label gives: the newest one's.
void Forecaster::SeeLastLabel(Device* device) {
  for (int i = 0; i < shape_.targets; ++i)
    alarm_row_[static_cast<std::size_t>(i)] = {
        .value = device->RowNaive(device->rows - 1, i),
        .outside = device->At(shape_.label_outside, shape_.targets)[i] != 0};
}

void Forecaster::SaveLabels(const StateWriter& writer) const {
  std::vector<std::uint64_t> words;
  for (const auto& [name, device] : devices_) {
    words.push_back(device->label_row);
    device->labels.Save(&words);
  }
  writer.Words("labels", words);
}

/// Of devices that are loaded, in the order in which they were saved.
Status Forecaster::LoadLabels(std::span<const std::string> names, const StateReader& reader) {
  const auto words = reader.AllWords("labels");
  if (!words.ok()) return words.status();
  const std::size_t each = 1 + LabelSlots(shape_.label_window).words();
  bool whole = words->size() == names.size() * each;
  for (std::size_t i = 0; whole && i < names.size(); ++i) {
    const std::shared_ptr<Device> device = devices_.find(names[i])->second;
    device->label_row = (*words)[i * each];
    whole = device->label_row <= device->rows &&
            device->labels.Load(words->subspan(i * each + 1, each - 1), device->rows);
    device->open = device->labels.Untaught();
    if (settings_.learn && device->open > 0) StandInLine(device);
  }
  if (whole) return {};
  return InvalidData("what was saved of the labels of the stream's devices is damaged");
}

}  // namespace murmurate
