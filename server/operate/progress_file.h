// ProgressFile: columns of one progress.csv as curves, read on as the file grows.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "server/operate/curve.h"

namespace murmurate {

/// One thread.
class ProgressFile {
 public:
  explicit ProgressFile(std::string path) : path_(std::move(path)) {}

  /// Reads what is new, at most 32 MiB of it (of a longer file its end), and anew where the file was
  /// replaced. True: a curve has changed.
  bool Refresh();
  /// Counts the changes.
  std::uint64_t revision() const { return revision_; }
  /// By column, of those among kShownColumns that have numbers; over environment steps.
  const std::map<std::string, Curve>& curves() const { return curves_; }

  /// The columns that are kept.
  static const std::vector<std::string_view>& ShownColumns();

 private:
  void Open(const std::string& header);
  void TakeRow(std::string_view row);

  const std::string path_;
  std::string header_;
  std::uint64_t inode_ = 0;
  std::uint64_t offset_ = 0;        ///< up to here whole rows are read
  int steps_place_ = -1;            ///< in a row; -1: the file has no such column
  std::vector<std::string> shown_;  ///< by place in a row; "": the column is not kept
  std::map<std::string, Curve> curves_;
  std::uint64_t revision_ = 0;
};

}  // namespace murmurate
