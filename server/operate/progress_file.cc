#include "server/operate/progress_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "server/metrics/model_metrics.h"
#include "server/metrics/stream_metrics.h"

namespace murmurate {
namespace {

constexpr std::uint64_t kMostBytes = 32 << 20;  ///< read at once
constexpr std::size_t kMostHeader = 16 << 10;

/// A file that is open for reading while this lives.
struct OpenFile {
  explicit OpenFile(const std::string& path) : fd(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~OpenFile() {
    if (fd >= 0) close(fd);
  }
  OpenFile(const OpenFile&) = delete;
  /// The bytes from `offset` on, at most `count`.
  std::string Read(std::uint64_t offset, std::size_t count) const {
    std::string bytes(count, '\0');
    std::size_t size = 0;
    while (size < count) {
      const ssize_t got =
          pread(fd, bytes.data() + size, count - size, static_cast<off_t>(offset + size));
      if (got <= 0) break;
      size += static_cast<std::size_t>(got);
    }
    bytes.resize(size);
    return bytes;
  }
  const int fd;
};

/// Calls `take` with the place and the text of each field.
template <typename Take>
void EachField(std::string_view row, const Take& take) {
  std::size_t place = 0;
  while (true) {
    const std::size_t comma = row.find(',');
    take(place++, row.substr(0, comma));
    if (comma == row.npos) return;
    row.remove_prefix(comma + 1);
  }
}

std::optional<double> Number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && std::isfinite(value) ? std::optional(value) : std::nullopt;
}

}  // namespace

const std::vector<std::string_view>& ProgressFile::ShownColumns() {
  static const std::vector<std::string_view> kColumns = {kMeanReturn.name,
                                                         kEvalReturn.name,
                                                         kSuccessRate.name,
                                                         kMeanLength.name,
                                                         kLoss.name,
                                                         kAccuracy.name,
                                                         kPolicyLoss.name,
                                                         kValueLoss.name,
                                                         kEntropyLoss.name,
                                                         kApproxKl.name,
                                                         kExplainedVariance.name,
                                                         kGradNorm.name,
                                                         kStaleness.name,
                                                         kOverallRate.name,
                                                         kLearningRate.name,
                                                         kStreamError.name,
                                                         kStreamNaiveError.name,
                                                         "train/td_error",
                                                         "train/q_value"};
  return kColumns;
}

/// Begins anew with a file of this header. Without a column of steps it has no curves.
void ProgressFile::Open(const std::string& header) {
  header_ = header;
  offset_ = header.size() + 1;
  steps_place_ = -1;
  shown_.clear();
  curves_.clear();
  ++revision_;
  EachField(header, [&](std::size_t place, std::string_view name) {
    if (name == kEnvironmentSteps.name) steps_place_ = static_cast<int>(place);
    const bool shown = std::ranges::find(ShownColumns(), name) != ShownColumns().end();
    shown_.emplace_back(shown ? name : "");
  });
}

void ProgressFile::TakeRow(std::string_view row) {
  std::optional<double> steps;
  EachField(row, [&](std::size_t place, std::string_view text) {
    if (static_cast<int>(place) == steps_place_) steps = Number(text);
  });
  if (!steps || *steps < 0 || *steps > 9e15) return;
  EachField(row, [&](std::size_t place, std::string_view text) {
    if (place >= shown_.size() || shown_[place].empty() || text.empty()) return;
    if (const auto value = Number(text))
      curves_[shown_[place]].Add({static_cast<std::uint64_t>(*steps), *value});
  });
}

bool ProgressFile::Refresh() {
  const OpenFile file(path_);
  struct stat now {};
  if (file.fd < 0 || fstat(file.fd, &now) != 0) return false;
  const auto size = static_cast<std::uint64_t>(now.st_size);
  const std::uint64_t before = revision_;
  if (now.st_ino != inode_ || size < offset_ || header_.empty()) {
    const std::string start = file.Read(0, kMostHeader);
    const std::size_t end = start.find('\n');
    if (end == start.npos) return false;
    Open(start.substr(0, end));
    inode_ = now.st_ino;
  }
  if (steps_place_ < 0) return revision_ != before;
  bool cut = false;
  if (size - offset_ > kMostBytes) {
    offset_ = size - kMostBytes;
    cut = true;
  }
  const std::string text = file.Read(offset_, static_cast<std::size_t>(size - offset_));
  std::string_view rows(text);
  if (cut) rows.remove_prefix(std::min(rows.size(), rows.find('\n') + 1));
  const std::size_t last = rows.rfind('\n');
  if (last == rows.npos) return revision_ != before;
  offset_ += static_cast<std::uint64_t>(rows.data() + last + 1 - text.data());
  rows = rows.substr(0, last);
  while (!rows.empty()) {
    const std::size_t end = rows.find('\n');
    TakeRow(rows.substr(0, end));
    rows.remove_prefix(end == rows.npos ? rows.size() : end + 1);
  }
  ++revision_;
  return true;
}

}  // namespace murmurate
