// PayloadReader: from the bytes of one message to a Sample.
//
//   json        one JSON value. A field stands where its JSON pointer (RFC 6901) says, "/" + its
//               name unless told; "" is a payload that is the bare number. What no pointer names is
//               passed over unkept. Two values for one pointer are refused.
//   csv         one line, cells between `separator`, blanks around them passed over, no quotes. A
//               field is a column: a number from 1, or a name of `header`; unless told, the column
//               of its name, or without a header its own place. A line with fewer columns than are
//               asked for, or not as many as the header, is refused, as it may have been cut.
//   floats      float32, little-endian, one per field in order and nothing else
//   flatbuffer  the table of schemas/sample.fbs, verified; one of `numbers`, or without them of
//               `values`, per field
//
// The usable part of a message is used. A field that is absent, null, or not finite is missing: its
// value is NaN. So is one outside its range (`out_of_range` counts it, not `missing`), and one that
// is text, an object or a list where a number belongs (`wrong_type`). true is 1, false is 0. With
// every field missing, the message is refused: kWrongType when one was of the wrong type, else
// kNoField. Not so the rest: a time that cannot be read, a sequence that is no whole number from 0
// on (16.0 is one, up to 2^53), or an id that is neither text nor such an integer refuses the
// message, since its place could not be known. When absent or null, they count as not given.
//
// JSON has no NaN and no number beyond 1.8e308: such a payload is malformed. Read is bounded in
// time and memory by `max_bytes`, nests no deeper than kMaxDepth, and ends every error here.
// One thread. Once the Sample is warm, Read allocates nothing, but for JSON the parser's own
// buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "murmurate/status.h"
#include "server/stream/sample.h"
#include "server/stream/time_text.h"
#include "shared/core/enum_names.h"

namespace murmurate {

enum class PayloadFormat : std::uint8_t { kJson, kCsv, kFloats, kFlatBuffer };
inline constexpr EnumName<PayloadFormat> kPayloadFormatNames[] = {
    {PayloadFormat::kJson, "json"},
    {PayloadFormat::kCsv, "csv"},
    {PayloadFormat::kFloats, "floats"},
    {PayloadFormat::kFlatBuffer, "flatbuffer"}};
constexpr std::span<const EnumName<PayloadFormat>> NamesOf(PayloadFormat) {
  return kPayloadFormatNames;
}

struct FieldSettings {
  std::string name;
  /// Its place in the payload (see above); none: the place that its name says.
  std::optional<std::string> pointer = {};
  std::string unit = {};  ///< for people
  std::optional<double> min = {}, max = {};
};

struct PayloadSettings {
  PayloadFormat format = PayloadFormat::kJson;
  std::vector<FieldSettings> fields;  ///< 1 to kMaxFields
  /// Places as FieldSettings::pointer, in JSON and CSV; none: the message does not say. `device`:
  /// who sends, where the topic does not say it; of a FlatBuffer "device" or none.
  std::optional<std::string> time = {}, sequence = {}, id = {}, device = {};
  /// So many of the fields, the last ones, are labels: a message may have the others alone, or these
  /// alone, and then the rest does not count as missing.
  std::size_t label_fields = 0;
  TimeForm time_form = TimeForm::kSeconds;  ///< a FlatBuffer has nanoseconds
  std::vector<std::string> header = {};     ///< CSV: the names of all columns
  char separator = ',';                     ///< CSV
  std::size_t max_bytes = 64 << 10;
};

struct FieldCounts {
  std::uint64_t missing = 0, out_of_range = 0, wrong_type = 0;
  bool any() const { return missing + out_of_range + wrong_type > 0; }
};

class SampleDraft;

/// One format: puts what a payload says into a draft.
class PayloadScanner {
 public:
  virtual ~PayloadScanner() = default;
  virtual void Scan(std::string_view payload, SampleDraft* draft) = 0;
};

class PayloadReader {
 public:
  static constexpr std::size_t kMaxFields = 256;
  static constexpr int kMaxDepth = 32;  ///< of JSON, the outermost object being 1

  /// kInvalidArgument with the remedy.
  static Result<PayloadReader> Make(PayloadSettings settings);
  PayloadReader(PayloadReader&&) noexcept;
  PayloadReader& operator=(PayloadReader&&) noexcept;
  ~PayloadReader();

  /// kNone, and all of `sample` but its device is of this message (that, too, where the settings
  /// name it); else the rest of `sample` is unspecified.
  Refusal Read(std::string_view payload, Sample* sample);

  const PayloadSettings& settings() const { return settings_; }
  /// One per field, over all messages that could be read to their end.
  std::span<const FieldCounts> counts() const;

 private:
  PayloadReader(PayloadSettings settings, std::unique_ptr<PayloadScanner> scanner);

  PayloadSettings settings_;
  std::unique_ptr<PayloadScanner> scanner_;
  std::unique_ptr<SampleDraft> draft_;
};

}  // namespace murmurate
