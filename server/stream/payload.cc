#include "server/stream/payload.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string_view>
#include <utility>

#include "server/stream/binary_scanners.h"
#include "server/stream/csv_scanner.h"
#include "server/stream/json_scanner.h"
#include "server/stream/sample_draft.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

constexpr std::size_t kMaxColumns = 4096;
constexpr std::size_t kMaxPayloadBytes = 256 << 20;  // as much as MQTT can carry

using Scanner = Result<std::unique_ptr<PayloadScanner>>;

Status CheckField(const FieldSettings& field, std::span<const FieldSettings> earlier) {
  if (field.name.empty()) return InvalidArgument("a field has no name: give it one");
  const auto same = [&](const FieldSettings& other) { return other.name == field.name; };
  if (std::any_of(earlier.begin(), earlier.end(), same)) {
    return InvalidArgument("two fields are called '" + field.name + "': rename one");
  }
  const double infinity = std::numeric_limits<double>::infinity();
  if (!(field.min.value_or(-infinity) < field.max.value_or(infinity))) {
    return InvalidArgument("the range of the field '" + field.name +
                           "' is empty: its min must lie below its max");
  }
  return {};
}

Status Check(const PayloadSettings& settings) {
  const std::span<const FieldSettings> fields = settings.fields;
  if (fields.empty()) return InvalidArgument("a stream needs a field: name at least one");
  if (fields.size() > PayloadReader::kMaxFields) {
    return InvalidArgument(std::to_string(fields.size()) +
                           " fields are too many: at most 256 are taken");
  }
  for (std::size_t i = 0; i < fields.size(); ++i) {
    MURMURATE_RETURN_IF_ERROR(CheckField(fields[i], fields.first(i)));
  }
  if (settings.max_bytes < 1 || settings.max_bytes > kMaxPayloadBytes) {
    return InvalidArgument("max_bytes = " + std::to_string(settings.max_bytes) +
                           " is out of range: give a number from 1 to 268435456");
  }
  return {};
}

/// The values that `settings` wants from the payload beside the fields.
std::vector<std::pair<std::string, int>> Others(const PayloadSettings& settings) {
  std::vector<std::pair<std::string, int>> others;
  if (settings.time) others.emplace_back(*settings.time, kTimeSlot);
  if (settings.sequence) others.emplace_back(*settings.sequence, kSequenceSlot);
  if (settings.id) others.emplace_back(*settings.id, kIdSlot);
  if (settings.device) others.emplace_back(*settings.device, kDeviceSlot);
  return others;
}

Scanner MakeJson(const PayloadSettings& settings) {
  std::vector<std::pair<std::string, int>> pointers = Others(settings);
  for (std::size_t i = 0; i < settings.fields.size(); ++i) {
    const FieldSettings& field = settings.fields[i];
    pointers.emplace_back(field.pointer.value_or(JsonPointerOf(field.name)), static_cast<int>(i));
  }
  return JsonScanner::Make(pointers);
}

/// The place of `column`, counted from 0: by its name in the header, or its number from 1.
Result<std::size_t> FindColumn(const std::string& column, const PayloadSettings& settings) {
  const auto named = std::find(settings.header.begin(), settings.header.end(), column);
  if (named != settings.header.end()) {
    return static_cast<std::size_t>(named - settings.header.begin());
  }
  std::size_t number = 0;
  const char* last = column.data() + column.size();
  const auto [end, error] = std::from_chars(column.data(), last, number);
  const std::size_t most = settings.header.empty() ? kMaxColumns : settings.header.size();
  if (error != std::errc() || end != last || number < 1 || number > most) {
    return InvalidArgument("there is no column '" + column + "': give a number from 1 to " +
                           std::to_string(most) +
                           (settings.header.empty() ? ", or name the columns in 'header'"
                                                    : ", or a name that 'header' has"));
  }
  return number - 1;
}

Scanner MakeCsv(const PayloadSettings& settings) {
  if (std::string_view(",;|\t").find(settings.separator) == std::string_view::npos) {
    return InvalidArgument("the separator '" + std::string(1, settings.separator) +
                           "' is not taken: choose ',', ';', '|' or a tab");
  }
  if (settings.header.size() > kMaxColumns) {
    return InvalidArgument("the header has more than 4096 columns: send fewer");
  }
  std::vector<std::pair<std::string, int>> columns = Others(settings);
  for (std::size_t i = 0; i < settings.fields.size(); ++i) {
    const FieldSettings& field = settings.fields[i];
    const std::string usual = settings.header.empty() ? std::to_string(i + 1) : field.name;
    columns.emplace_back(field.pointer.value_or(usual), static_cast<int>(i));
  }
  std::vector<int> slots(settings.header.size(), kNoSlot);
  for (const auto& [column, slot] : columns) {
    const Result<std::size_t> place = FindColumn(column, settings);
    if (!place.ok()) return place.status();
    if (slots.size() <= *place) slots.resize(*place + 1, kNoSlot);
    if (slots[*place] != kNoSlot) {
      return InvalidArgument("two values are read from the column '" + column +
                             "': give each a column of its own");
    }
    slots[*place] = slot;
  }
  return std::unique_ptr<PayloadScanner>(
      new CsvScanner(std::move(slots), settings.separator, !settings.header.empty()));
}

Scanner MakeBinary(const PayloadSettings& settings) {
  const std::string format = TextOf(settings.format);
  for (const FieldSettings& field : settings.fields) {
    if (field.pointer) {
      return InvalidArgument("the field '" + field.name +
                             "' has a place, but a payload of format '" + format +
                             "' has its fields in their order: leave it out");
    }
  }
  if (settings.time || settings.sequence || settings.id) {
    return InvalidArgument("a payload of format '" + format +
                           "' has a fixed form: leave out where time, sequence and id stand");
  }
  if (settings.format == PayloadFormat::kFlatBuffer) {
    if (settings.device && *settings.device != "device") {
      return InvalidArgument("a FlatBuffer names who sends it in 'device', not in '" +
                             *settings.device + "': write that, or leave it to the topic");
    }
    return std::unique_ptr<PayloadScanner>(new TableScanner(settings.device.has_value()));
  }
  if (settings.device) {
    return InvalidArgument(
        "a payload of format 'floats' holds numbers alone: name the device in the topic");
  }
  return std::unique_ptr<PayloadScanner>(new FloatsScanner());
}

}  // namespace

PayloadReader::PayloadReader(PayloadSettings settings, std::unique_ptr<PayloadScanner> scanner)
    : settings_(std::move(settings)),
      scanner_(std::move(scanner)),
      draft_(std::make_unique<SampleDraft>(settings_)) {}

PayloadReader::PayloadReader(PayloadReader&&) noexcept = default;
PayloadReader& PayloadReader::operator=(PayloadReader&&) noexcept = default;
PayloadReader::~PayloadReader() = default;

Result<PayloadReader> PayloadReader::Make(PayloadSettings settings) {
  MURMURATE_RETURN_IF_ERROR(Check(settings));
  Scanner scanner = settings.format == PayloadFormat::kJson  ? MakeJson(settings)
                    : settings.format == PayloadFormat::kCsv ? MakeCsv(settings)
                                                             : MakeBinary(settings);
  if (!scanner.ok()) return scanner.status();
  return PayloadReader(std::move(settings), *std::move(scanner));
}

Refusal PayloadReader::Read(std::string_view payload, Sample* sample) {
  if (payload.size() > settings_.max_bytes) return Refusal::kOversized;
  draft_->Begin(sample);
  scanner_->Scan(payload, draft_.get());
  return draft_->End();
}

std::span<const FieldCounts> PayloadReader::counts() const { return draft_->counts(); }

}  // namespace murmurate
