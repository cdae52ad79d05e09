#include "server/data/csv_table.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <utility>

#include "server/data/fingerprint.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 30;
constexpr double kLargestWhole = 9007199254740992.0;  ///< 2^53: every smaller one is a double

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"')
    text = text.substr(1, text.size() - 2);
  return text;
}

/// Fields of a line, which may be in quotes; views of it.
void Split(std::string_view line, char separator, std::vector<std::string_view>* fields) {
  fields->clear();
  std::size_t begin = 0;
  bool quoted = false;
  for (std::size_t i = 0; i <= line.size(); ++i) {
    if (i < line.size() && line[i] == '"') quoted = !quoted;
    if (i < line.size() && (quoted || line[i] != separator)) continue;
    fields->push_back(Trimmed(line.substr(begin, i - begin)));
    begin = i + 1;
  }
}

/// Takes a line off the front of a text, without its end.
std::string_view TakeLine(std::string_view* text) {
  const std::size_t end = std::min(text->find('\n'), text->size());
  std::string_view line = text->substr(0, end);
  text->remove_prefix(std::min(end + 1, text->size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

bool IsNumber(std::string_view text, double* number) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

Result<std::unique_ptr<SampleArray>> CsvTable::Open(const std::string& path,
                                                    const std::string& columns, bool labels) {
  Result<MappedFile> file = MappedFile::Open(path);
  if (!file.ok()) return file.status();
  const std::span<const std::byte> bytes = file->bytes();
  if (bytes.size() > kMostBytes)
    return InvalidArgument(path + ": has " + std::to_string(bytes.size()) +
                           " bytes, and a table that is read into memory has at most 1 GiB; write "
                           "it as .npy files with `python3 -m murmurate.arrays " +
                           path + " --to folder`");
  std::unique_ptr<CsvTable> table(
      new CsvTable(columns.empty() ? path : path + ':' + columns, path));
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  MURMURATE_RETURN_IF_ERROR(table->ReadHeader(TakeLine(&text), columns));
  for (std::uint64_t number = 2; !text.empty(); ++number)
    if (const std::string_view line = TakeLine(&text); !line.empty())
      MURMURATE_RETURN_IF_ERROR(table->ReadLine(line, number));
  table->file_.bytes = bytes.size();
  table->file_.fingerprint = FingerprintOf(bytes);
  MURMURATE_RETURN_IF_ERROR(table->Finish(labels));
  return Result<std::unique_ptr<SampleArray>>(std::move(table));
}

Status CsvTable::ReadHeader(std::string_view line, const std::string& columns) {
  for (const char separator : {'\t', ';', ','})
    if (line.find(separator) != std::string_view::npos) separator_ = separator;
  Split(line, separator_, &fields_);
  double number = 0.0;
  for (const std::string_view field : fields_) {
    if (field.empty() || IsNumber(field, &number))
      return InvalidData(
          file_.path + ": line 1 holds \"" + std::string(field) +
          "\" where the name of a column was expected; write a header with the names "
          "of the columns as the first line");
    if (std::ranges::count(names_, field) > 0)
      return InvalidData(file_.path + ": two columns are named " + std::string(field) +
                         "; rename one of them");
    names_.emplace_back(field);
  }
  std::vector<std::string_view> words;
  Split(columns, ',', &words);
  if (!columns.empty())
    for (const std::string_view word : words)
      MURMURATE_RETURN_IF_ERROR(ChooseColumn(std::string(word)));
  if (columns.empty())
    for (std::size_t i = 0; i < names_.size(); ++i) chosen_.push_back(i);
  return {};
}

/// "name" or "name as float"
Status CsvTable::ChooseColumn(const std::string& word) {
  constexpr std::string_view kAsFloat = " as float";
  auto found = std::ranges::find(names_, word);
  if (found == names_.end() && word.ends_with(kAsFloat)) {
    as_float_ = true;
    found = std::ranges::find(names_, word.substr(0, word.size() - kAsFloat.size()));
  }
  if (found == names_.end())
    return InvalidArgument(file_.path + ": has no column \"" + word + "\"; it has " +
                           NamesInWords());
  chosen_.push_back(static_cast<std::size_t>(found - names_.begin()));
  return {};
}

std::string CsvTable::NamesInWords() const {
  constexpr std::size_t kMost = 12;
  std::string text;
  for (std::size_t i = 0; i < std::min(names_.size(), kMost); ++i)
    text += (i > 0 ? ", " : "") + names_[i];
  if (names_.size() > kMost) text += " and " + std::to_string(names_.size() - kMost) + " more";
  return text;
}

Status CsvTable::ReadLine(std::string_view line, std::uint64_t number) {
  Split(line, separator_, &fields_);
  if (fields_.size() != names_.size())
    return InvalidData(file_.path + ": line " + std::to_string(number) + " has " +
                       std::to_string(fields_.size()) + " fields, but the header names " +
                       std::to_string(names_.size()) + " columns; correct the line");
  for (const std::size_t column : chosen_) {
    double value = 0.0;
    if (!IsNumber(fields_[column], &value)) return NoNumber(number, column, fields_[column]);
    whole_ = whole_ && std::abs(value) < kLargestWhole && value == std::floor(value) &&
             fields_[column].find_first_of(".eE") == std::string_view::npos;
    read_.push_back(value);
  }
  return {};
}

Status CsvTable::NoNumber(std::uint64_t line, std::size_t field, std::string_view got) const {
  const std::string what = got.empty() ? "nothing" : '"' + std::string(got.substr(0, 40)) + '"';
  return InvalidData(file_.path + ": line " + std::to_string(line) + ", column " + names_[field] +
                     ": holds " + what +
                     " where a number was expected; fill or take out what is missing, and number "
                     "names with `python3 -m murmurate.arrays " +
                     file_.path + " --to folder`");
}

Status CsvTable::Finish(bool labels) {
  const std::uint64_t samples = read_.size() / chosen_.size();
  if (samples == 0) return InvalidData(file_.path + ": has no line behind its header; add samples");
  file_.items = samples;
  const bool integers = labels && whole_ && !as_float_;
  SetElement(integers ? SampleElement::kInt64 : SampleElement::kFloat32);
  std::vector<std::uint64_t> shape{samples};
  if (!labels || chosen_.size() > 1) shape.push_back(chosen_.size());
  MURMURATE_RETURN_IF_ERROR(SetShape(shape));
  sample_bytes_ = sample_bytes();
  numbers_.resize(samples * sample_bytes_);
  std::byte* to = numbers_.data();
  for (const double number : read_) {
    const auto whole = integers ? static_cast<std::int64_t>(number) : 0;
    const float rounded = integers ? 0.0f : NearestFloat(number);
    std::memcpy(to, integers ? static_cast<const void*>(&whole) : &rounded, BytesOf(element()));
    to += BytesOf(element());
  }
  read_ = {};
  fields_ = {};
  return {};
}

}  // namespace murmurate
