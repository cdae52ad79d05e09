// The handles of libhdf5, and what is asked of a data set once. The only room that includes hdf5.h.
#pragma once

#include <hdf5.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "murmurate/status.h"
#include "server/data/sample_array.h"

namespace murmurate::hdf5 {

/// A handle that is closed with its owner.
class Handle {
 public:
  using Closer = herr_t (*)(hid_t);
  Handle() = default;
  Handle(hid_t id, Closer closer) : id_(id), closer_(closer) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), closer_(other.closer_) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(closer_, other.closer_);
    return *this;
  }
  ~Handle() {
    if (id_ >= 0) closer_(id_);
  }
  bool ok() const { return id_ >= 0; }
  operator hid_t() const { return id_; }

 private:
  hid_t id_ = -1;
  Closer closer_ = nullptr;
};

/// libhdf5 prints nothing from now on, in this thread.
void BeQuiet();

/// The paths of all data sets of a file, sorted.
std::vector<std::string> DataSetsOf(hid_t file);

/// How the numbers of a data set are read.
struct Numbers {
  SampleElement element;
  hid_t in_memory;   ///< libhdf5's type of them
  bool as_they_lie;  ///< in the file as in memory
};
/// None: numbers of a type that is not taken; `found` says which.
std::optional<Numbers> NumbersOf(hid_t data_set, std::string* found);

/// Fails with the sentence that names the filter (a compression) that this libhdf5 has not got.
Status CheckFilters(hid_t properties, const std::string& name);

}  // namespace murmurate::hdf5
