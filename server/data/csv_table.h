// CsvTable: columns of a .csv file, read into memory when it is opened.
//
//   age,dose,outcome        a header with the names of the columns, none twice
//   41,0.5,1                then a line for each sample: decimal numbers, as many as there are names
//
// Columns are separated by the first of , ; and tab that the header has; a field may stand in double
// quotes; lines end in \n or \r\n. "dose,age" takes these columns in this order, "" all of them.
//
// As observations, the numbers are float32, each the nearest to what is written. As labels they are
// int64 (classes) when all of them are written as whole numbers, and float32 otherwise; "outcome as
// float" makes floats of whole numbers.
//
// A file has at most 1 GiB: what is larger is written as .npy files first.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/data/mapped_file.h"
#include "server/data/sample_array.h"

namespace murmurate {

class CsvTable : public SampleArray {
 public:
  /// kInvalidArgument: no such file or column; kInvalidData names the line and the column of what is
  /// no number.
  static Result<std::unique_ptr<SampleArray>> Open(const std::string& path,
                                                   const std::string& columns, bool labels);

  const std::byte* Sample(std::uint64_t i) const override {
    return numbers_.data() + i * sample_bytes_;
  }
  std::vector<DataFile> files() const override { return {file_}; }

 private:
  CsvTable(std::string name, std::string path) : SampleArray(std::move(name)), file_{path} {}
  Status ReadHeader(std::string_view line, const std::string& columns);
  Status ChooseColumn(const std::string& word);
  Status ReadLine(std::string_view line, std::uint64_t number);
  Status NoNumber(std::uint64_t line, std::size_t field, std::string_view got) const;
  Status Finish(bool labels);
  std::string NamesInWords() const;

  DataFile file_;
  char separator_ = ',';
  std::vector<std::string> names_;  ///< of all columns
  std::vector<std::size_t> chosen_;
  bool whole_ = true;                     ///< every number of the chosen columns so far is
  bool as_float_ = false;                 ///< was asked for
  std::vector<std::string_view> fields_;  ///< of one line
  std::vector<double> read_;              ///< [samples, chosen_]
  std::vector<std::byte> numbers_;
  std::size_t sample_bytes_ = 0;
};

}  // namespace murmurate
