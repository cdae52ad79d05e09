// ArrayOpener: from a path of [data] to the array that it names.
//
//   x.npy                   a NumPy array; so is any file whose ending is not listed here
//   data.h5:/images         a data set of an HDF5 file (.h5, .hdf5)
//   table.csv:a,b           columns of a table, or all of them: table.csv
//   x-*.npy                 files whose names match (* ? [abc]), sorted, as one array; of any kind
//
// A new kind of file is a class that is a SampleArray and a row of the table in array_opener.cc.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "murmurate/status.h"
#include "server/data/sample_array.h"

namespace murmurate {

/// What an array is for decides what the numbers of a text are.
enum class ArrayUse : std::uint8_t { kObservations, kLabels };

/// A path of [data]: a file, or a pattern of files, and what of it is meant.
struct ArrayPath {
  std::string file;  ///< "/home/me/data.h5"
  std::string part;  ///< "/images"; "": not said
};

ArrayPath SplitArrayPath(const std::string& path);

/// kInvalidArgument or kInvalidData; the sentence names the file.
Result<std::unique_ptr<SampleArray>> OpenArray(const std::string& path, ArrayUse use);

}  // namespace murmurate
