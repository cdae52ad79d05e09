#include "server/stream/sample_draft.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "server/stream/names.h"

namespace murmurate {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

}  // namespace

SampleDraft::SampleDraft(const PayloadSettings& settings)
    : time_form_(settings.format == PayloadFormat::kFlatBuffer ? TimeForm::kNanoseconds
                                                               : settings.time_form),
      needs_device_(settings.device.has_value()),
      labels_from_(settings.fields.size() - settings.label_fields),
      found_(settings.fields.size()),
      counts_(settings.fields.size()) {
  for (const FieldSettings& field : settings.fields) {
    ranges_.push_back({std::max(field.min.value_or(-kMostUsable), -kMostUsable),
                       std::min(field.max.value_or(kMostUsable), kMostUsable)});
  }
}

void SampleDraft::Begin(Sample* sample) {
  sample_ = sample;
  if (needs_device_) sample->device.clear();
  sample->time_ns = 0;
  sample->sequence.reset();
  sample->id.clear();
  sample->values.assign(ranges_.size(), kNan);
  std::fill(found_.begin(), found_.end(), Found::kNothing);
  seen_ = 0;
  refusal_ = Refusal::kNone;
}

bool SampleDraft::IsFirst(int slot) {
  if (slot == kNoSlot) return false;
  const unsigned bit = slot < 0 ? 1U << -slot : 0;
  const bool again =
      slot < 0 ? (seen_ & bit) != 0 : found_[static_cast<std::size_t>(slot)] != Found::kNothing;
  seen_ |= bit;
  if (again) Refuse(Refusal::kTwice);
  return !again;
}

void SampleDraft::PutNull(int slot) {
  if (IsFirst(slot) && slot >= 0) found_[static_cast<std::size_t>(slot)] = Found::kNull;
}

void SampleDraft::PutNumber(int slot, double value) {
  const auto i = static_cast<std::size_t>(slot);
  if (!std::isfinite(value)) {
    found_[i] = Found::kNull;
  } else if (value < ranges_[i].min || value > ranges_[i].max) {
    found_[i] = Found::kOutOfRange;
  } else {
    found_[i] = Found::kNumber;
    sample_->values[i] = value;
  }
}

void SampleDraft::PutTime(std::optional<std::int64_t> time_ns) {
  if (!time_ns) return Refuse(Refusal::kBadTime);
  sample_->time_ns = *time_ns;
}

void SampleDraft::PutName(int slot, std::string_view name) {
  if (slot == kDeviceSlot) {
    const Refusal refusal = CheckDeviceName(name);
    if (refusal != Refusal::kNone) return Refuse(refusal);
    // A topic that begins so is the broker's own, and this may become one.
    if (name.front() == '$') return Refuse(Refusal::kBadDeviceName);
    sample_->device = name;
  } else {
    if (name.size() > kMaxNameBytes) return Refuse(Refusal::kIdTooLong);
    sample_->id = name;
  }
}

void SampleDraft::PutInteger(int slot, std::uint64_t value) {
  if (!IsFirst(slot)) return;
  if (slot >= 0) return PutNumber(slot, static_cast<double>(value));
  if (slot == kSequenceSlot) {
    sample_->sequence = value;
  } else if (slot == kTimeSlot) {
    if (time_form_ == TimeForm::kIso8601) return Refuse(Refusal::kBadTime);
    PutTime(TimeOfCount(value, time_form_));
  } else {
    char written[20];
    PutName(slot, {written, std::to_chars(written, written + sizeof written, value).ptr});
  }
}

void SampleDraft::PutDecimal(int slot, double value, std::string_view written) {
  if (!IsFirst(slot)) return;
  if (slot >= 0) return PutNumber(slot, value);
  const bool counts =
      !written.empty() && value >= 0 && value <= 0x1p53 && value == std::floor(value);
  if (slot == kSequenceSlot && counts) {  // 16.0
    sample_->sequence = static_cast<std::uint64_t>(value);
    return;
  }
  if (slot != kTimeSlot) return Refuse(Refusal::kWrongType);
  if (time_form_ == TimeForm::kIso8601) return Refuse(Refusal::kBadTime);
  PutTime(TimeOfDecimal(written, time_form_));
}

void SampleDraft::PutText(int slot, std::string_view text) {
  if (!IsFirst(slot)) return;
  if (slot >= 0) {
    found_[static_cast<std::size_t>(slot)] = Found::kWrongType;
  } else if (slot == kSequenceSlot) {
    Refuse(Refusal::kWrongType);
  } else if (slot == kTimeSlot) {
    if (time_form_ != TimeForm::kIso8601) return Refuse(Refusal::kBadTime);
    PutTime(TimeOfIso8601(text));
  } else {
    PutName(slot, text);
  }
}

void SampleDraft::PutOther(int slot) {
  if (!IsFirst(slot)) return;
  if (slot >= 0) {
    found_[static_cast<std::size_t>(slot)] = Found::kWrongType;
  } else {
    Refuse(slot == kTimeSlot ? Refusal::kBadTime : Refusal::kWrongType);
  }
}

void SampleDraft::Refuse(Refusal refusal) {
  if (refusal_ == Refusal::kNone) refusal_ = refusal;
}

/// Counts the faults of these fields; of labels and fields that share a topic either may be absent.
void SampleDraft::Count(std::size_t first, std::size_t end) {
  const bool absent = std::all_of(found_.begin() + static_cast<std::ptrdiff_t>(first),
                                  found_.begin() + static_cast<std::ptrdiff_t>(end),
                                  [](Found found) { return found == Found::kNothing; });
  if (absent && labels_from_ < found_.size()) return;
  for (std::size_t i = first; i < end; ++i) {
    counts_[i].missing += found_[i] == Found::kNothing || found_[i] == Found::kNull;
    counts_[i].out_of_range += found_[i] == Found::kOutOfRange;
    counts_[i].wrong_type += found_[i] == Found::kWrongType;
  }
}

Refusal SampleDraft::End() {
  if (refusal_ != Refusal::kNone) return refusal_;
  if (needs_device_ && sample_->device.empty()) return Refusal::kEmptyDevice;
  Count(0, labels_from_);
  Count(labels_from_, found_.size());
  const auto any = [this](Found what) {
    return std::find(found_.begin(), found_.end(), what) != found_.end();
  };
  if (any(Found::kNumber)) return Refusal::kNone;
  return any(Found::kWrongType) ? Refusal::kWrongType : Refusal::kNoField;
}

}  // namespace murmurate
