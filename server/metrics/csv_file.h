// CsvFile: progress.csv: a header, one row a log interval, flushed; a number that does not exist
// yet is an empty field. The columns are the declared ones (ProgressColumns), and behind them those
// that an algorithm measures of its own.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "server/metrics/metric_sink.h"

namespace murmurate {

class CsvFile : public MetricSink {
 public:
  static Result<std::unique_ptr<CsvFile>> Create(const std::string& path);
  /// Goes on with one that is there, after what `loaded` has come to. Later rows, which a learner
  /// wrote that died before its next checkpoint, are cut off, and so is half a row; `log` is told.
  /// One of an earlier version that lacks the last columns gets them, empty; one with another
  /// header is kept as PATH.1, PATH.2, ...
  static Result<std::unique_ptr<CsvFile>> GoOn(const std::string& path, const Reading& loaded,
                                               const LogCallback& log);
  /// The header line of the declared columns.
  static std::string Header();

  Status Write(const Reading& reading) override;

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  explicit CsvFile(std::string path) : path_(std::move(path)) {}
  Status Open(const char* mode);
  Status Append(const std::string& row);
  Status AddColumns(const Reading& reading);

  const std::string path_;
  std::vector<std::string> columns_;
  std::unique_ptr<std::FILE, Close> file_;
};

/// progress.csv of a model.
Result<std::unique_ptr<MetricSink>> OpenProgressFile(const SinkTarget& target);

}  // namespace murmurate
