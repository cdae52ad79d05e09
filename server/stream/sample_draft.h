// SampleDraft: the rules by which what a payload says becomes a Sample, one for all formats
// (payload.h has them in words). A format reports what it finds, each under its slot, in any order.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "server/stream/payload.h"
#include "server/stream/sample.h"
#include "server/stream/time_text.h"

namespace murmurate {

/// A slot says what a place in a payload is for: a field's number from 0 on, or one of these.
inline constexpr int kNoSlot = -1, kTimeSlot = -2, kSequenceSlot = -3, kIdSlot = -4,
                     kDeviceSlot = -5;

class SampleDraft {
 public:
  explicit SampleDraft(const PayloadSettings& settings);

  void Begin(Sample* sample);
  /// kNoSlot: passed over.
  void PutNull(int slot);
  void PutInteger(int slot, std::uint64_t value);
  /// `written`: the digits, where there are any; a time is read from them.
  void PutDecimal(int slot, double value, std::string_view written);
  void PutText(int slot, std::string_view text);
  void PutOther(int slot);  ///< an object, a list
  /// The payload as a whole is wrong; the first word holds.
  void Refuse(Refusal refusal);
  Refusal End();

  std::size_t fields() const { return ranges_.size(); }
  std::span<const FieldCounts> counts() const { return counts_; }

 private:
  struct Range {
    double min, max;
  };
  enum class Found : std::uint8_t { kNothing, kNull, kNumber, kOutOfRange, kWrongType };

  bool IsFirst(int slot);
  void PutNumber(int slot, double value);
  void PutTime(std::optional<std::int64_t> time_ns);
  void PutName(int slot, std::string_view name);
  void Count(std::size_t first, std::size_t end);

  TimeForm time_form_;
  bool needs_device_;
  std::size_t labels_from_;  ///< with labels among the fields, else the number of fields
  std::vector<Range> ranges_;
  std::vector<Found> found_;  ///< in this message
  std::vector<FieldCounts> counts_;
  unsigned seen_ = 0;  ///< a bit for each slot that is no field
  Refusal refusal_ = Refusal::kNone;
  Sample* sample_ = nullptr;
};

}  // namespace murmurate
