// Hdf5Array: one data set of an HDF5 file (support.hdfgroup.org, format 1.8 to 1.10), as h5py,
// MATLAB 7.3 and Keras write them: float32, float64, uint8, int32 or int64, of either byte order,
// with 1 to 8 dimensions, the first of which counts the samples.
//
// What lies in the file as it is read (contiguous, not compressed, little-endian) is mapped from
// there, as a .npy file is. Anything else (chunks, compressed or not) is unpacked into a scratch file
// (scratch_file.h), a group of samples at the first touch of one of them, so training begins at
// once, each group is unpacked once however often its samples are drawn, and from then on a sample
// costs what one of a .npy file does. Groups are unpacked one at a time, by the threads that fill
// batches (libhdf5 has one lock).
//
// It is in a plug-in, because libhdf5 and what that needs would make each start of murmurate 10 ms
// longer; the rest of the room opens one by hdf5_plug_in.h.
#pragma once

#include <memory>
#include <string>

#include "murmurate/status.h"
#include "server/data/sample_array.h"

namespace murmurate {

class Hdf5Array : public SampleArray {
 public:
  /// `data_set`: its path in the file; "": the only one. kInvalidArgument: no such file or data
  /// set, or numbers that are not taken; kInvalidData: no HDF5 file, or one that is damaged.
  static Result<std::unique_ptr<SampleArray>> Open(const std::string& path,
                                                   const std::string& data_set);

 protected:
  using SampleArray::SampleArray;
};

}  // namespace murmurate
