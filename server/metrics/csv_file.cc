#include "server/metrics/csv_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "server/metrics/model_metrics.h"
#include "server/metrics/number_text.h"
#include "shared/core/check.h"
#include "shared/model/safetensors.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kMaxBytes = std::size_t{1} << 30;

std::vector<std::string> Split(const std::string& line) {
  std::vector<std::string> fields;
  std::istringstream text(line + ',');
  for (std::string field; std::getline(text, field, ',');) fields.push_back(field);
  return fields;
}

std::string Joined(const std::vector<std::string>& fields) {
  std::string line;
  for (const std::string& field : fields) line += field + ',';
  line.pop_back();
  return line;
}

std::vector<std::string> DeclaredColumns() {
  std::vector<std::string> columns;
  for (const Metric* metric : ProgressColumns()) columns.emplace_back(metric->name);
  return columns;
}

std::string FieldOf(const MetricValue& value) {
  if (const auto* count = std::get_if<std::uint64_t>(&value.variant()))
    return std::to_string(*count);
  const auto number = value.number();
  return number ? FormatNumber("%.6g", *number) : "";
}

/// The columns of a file that can go on: one header begins as the other does. Empty: it cannot.
std::vector<std::string> ColumnsOf(const std::string& header) {
  std::vector<std::string> present = DeclaredColumns(), there = Split(header);
  if (there.size() > present.size()) std::swap(there, present);
  if (there.size() < 2 || !std::equal(there.begin(), there.end(), present.begin())) return {};
  return present;
}

/// The count in the column of `metric` of a row that has one.
std::uint64_t CountIn(const std::vector<std::string>& row, const Metric& metric) {
  const auto columns = ProgressColumns();
  const auto place =
      static_cast<std::size_t>(std::ranges::find(columns, &metric) - columns.begin());
  return place < row.size() ? std::strtoull(row[place].c_str(), nullptr, 10) : 0;
}

/// The text of a file with the rows that count: whole, and of no more steps than there are; each
/// with `missing` fields more.
std::string RowsUpTo(const Reading& loaded, const std::string& text, const std::string& header,
                     std::size_t missing, std::size_t* cut) {
  std::string kept = header + '\n';
  for (std::size_t at = text.find('\n') + 1; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    const bool whole = end != std::string::npos;
    const std::string row = text.substr(at, whole ? end - at : std::string::npos);
    const std::vector<std::string> fields = Split(row);
    if (whole && CountIn(fields, kEnvironmentSteps) <= loaded.Count(kEnvironmentSteps) &&
        CountIn(fields, kTrainedSteps) <= loaded.Count(kTrainedSteps)) {
      kept += row + std::string(missing, ',') + '\n';
    } else {
      ++*cut;
    }
    at = whole ? end + 1 : text.size();
  }
  return kept;
}

void KeepAside(const std::string& path) {
  std::error_code error;
  for (int i = 1;; ++i) {
    const std::string aside = path + '.' + std::to_string(i);
    if (fs::exists(aside, error)) continue;
    fs::rename(path, aside, error);
    return;
  }
}

Status Replace(const std::string& path, const std::string& text) {
  return WriteFileAtomically(path, std::as_bytes(std::span(text.data(), text.size())));
}

}  // namespace

std::string CsvFile::Header() { return Joined(DeclaredColumns()) + '\n'; }

Status CsvFile::Open(const char* mode) {
  file_.reset(std::fopen(path_.c_str(), mode));
  if (file_) return {};
  return ResourceError(
      path_ + ": cannot be written (" + std::strerror(errno) +
      "); check the folder's permissions or choose another with --set run.dir=DIR");
}

Result<std::unique_ptr<CsvFile>> CsvFile::Create(const std::string& path) {
  std::unique_ptr<CsvFile> file(new CsvFile(path));
  file->columns_ = DeclaredColumns();
  MURMURATE_RETURN_IF_ERROR(file->Open("we"));
  MURMURATE_RETURN_IF_ERROR(file->Append(Header()));
  return file;
}

Result<std::unique_ptr<CsvFile>> CsvFile::GoOn(const std::string& path, const Reading& loaded,
                                               const LogCallback& log) {
  const auto text = ReadFile(path, kMaxBytes);
  const std::string header = text.ok() ? text->substr(0, text->find('\n')) : "";
  std::unique_ptr<CsvFile> file(new CsvFile(path));
  file->columns_ = ColumnsOf(header);
  if (file->columns_.empty()) {
    if (text.ok()) KeepAside(path);
    return Create(path);
  }
  const std::size_t missing = file->columns_.size() - Split(header).size();
  std::size_t cut = 0;
  const std::string kept = RowsUpTo(loaded, *text, Joined(file->columns_), missing, &cut);
  if (cut > 0 || missing > 0) MURMURATE_RETURN_IF_ERROR(Replace(path, kept));
  if (log && cut > 0)
    log(LogLevel::kWarning, path + ": cut off " + std::to_string(cut) + " rows after step " +
                                std::to_string(loaded.Count(kEnvironmentSteps)) +
                                ": the learner that wrote them died before its next checkpoint");
  MURMURATE_RETURN_IF_ERROR(file->Open("ae"));
  return file;
}

Status CsvFile::Append(const std::string& row) {
  if (std::fputs(row.c_str(), file_.get()) >= 0 && std::fflush(file_.get()) == 0) return {};
  return ResourceError(path_ + ": cannot be written (" + std::strerror(errno) +
                       "); free some disk space");
}

/// Those of `reading` that the file lacks, behind the others; the rows so far have none of them.
Status CsvFile::AddColumns(const Reading& reading) {
  std::vector<std::string> columns = columns_;
  for (const MetricSample& sample : reading.samples())
    if (sample.metric->in_files && sample.label.empty() &&
        std::ranges::find(columns, sample.metric->name) == columns.end())
      columns.emplace_back(sample.metric->name);
  const std::size_t more = columns.size() - columns_.size();
  if (more == 0) return {};
  const auto text = ReadFile(path_, kMaxBytes);
  if (!text.ok()) return text.status();
  std::istringstream rows(*text);
  std::string row, wider = Joined(columns) + '\n';
  std::getline(rows, row);
  while (std::getline(rows, row)) wider += row + std::string(more, ',') + '\n';
  MURMURATE_RETURN_IF_ERROR(Replace(path_, wider));
  columns_ = std::move(columns);
  return Open("ae");
}

Status CsvFile::Write(const Reading& reading) {
  MURMURATE_RETURN_IF_ERROR(AddColumns(reading));
  std::vector<std::string> fields;
  for (const std::string& column : columns_) fields.push_back(FieldOf(reading[column]));
  return Append(Joined(fields) + '\n');
}

Result<std::unique_ptr<MetricSink>> OpenProgressFile(const SinkTarget& target) {
  const std::string path = target.folder + "/progress.csv";
  auto file =
      target.resumed ? CsvFile::GoOn(path, *target.resumed, target.log) : CsvFile::Create(path);
  if (!file.ok()) return file.status();
  return std::unique_ptr<MetricSink>(std::move(*file));
}

}  // namespace murmurate
