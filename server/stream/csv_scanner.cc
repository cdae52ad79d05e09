#include "server/stream/csv_scanner.h"

#include <charconv>
#include <limits>

#include "server/stream/sample_draft.h"

namespace murmurate {
namespace {

std::string_view Trimmed(std::string_view cell) {
  const std::size_t first = cell.find_first_not_of(" \t");
  if (first == cell.npos) return {};
  return cell.substr(first, cell.find_last_not_of(" \t") - first + 1);
}

template <typename Number>
std::errc Parse(std::string_view text, Number* number) {
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, *number);
  return end != last ? std::errc::invalid_argument : error;
}

void PutCell(std::string_view cell, int slot, SampleDraft* draft) {
  if (cell.empty()) return draft->PutNull(slot);
  if (slot == kIdSlot || slot == kDeviceSlot) return draft->PutText(slot, cell);
  if (cell.size() > 1 && cell[0] == '+' && cell[1] != '-') cell.remove_prefix(1);
  std::uint64_t integer = 0;
  if (Parse(cell, &integer) == std::errc()) return draft->PutInteger(slot, integer);
  double number = 0;
  const std::errc error = Parse(cell, &number);
  if (error == std::errc::invalid_argument) return draft->PutText(slot, cell);
  if (error != std::errc()) number = std::numeric_limits<double>::infinity();
  draft->PutDecimal(slot, number, cell);
}

}  // namespace

void CsvScanner::Scan(std::string_view payload, SampleDraft* draft) {
  std::string_view line = payload;
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.find_first_of("\r\n\"") != line.npos) return draft->Refuse(Refusal::kMalformed);
  std::size_t column = 0;
  for (bool more = true; more; ++column) {
    const std::size_t end = line.find(separator_);
    more = end != line.npos;
    if (column < slots_.size()) PutCell(Trimmed(line.substr(0, end)), slots_[column], draft);
    if (more) line.remove_prefix(end + 1);
  }
  if (exactly_ ? column != slots_.size() : column < slots_.size()) {
    draft->Refuse(Refusal::kMalformed);
  }
}

}  // namespace murmurate
