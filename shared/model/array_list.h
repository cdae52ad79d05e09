// ArrayList: a model that is no network but a list of named arrays, which a program of its own
// trains through a parameter server (client of server/parameters). Its text:
//   murmurate-arrays 1
//   array hidden/kernel 1 5
//   array step
// A line has the name and the shape; a shape without numbers is one number.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "murmurate/status.h"

namespace murmurate {

struct NamedArray {
  std::string name;  ///< 1 to 128 printable characters of ASCII without spaces
  std::vector<int> shape;

  std::size_t count() const;  ///< numbers; the shape is one that CheckArrays takes
  friend bool operator==(const NamedArray&, const NamedArray&) = default;
};

/// Ok for 1 to 4,096 arrays with names of their own, at most 8 dimensions of 1 or more each, and
/// 2^28 numbers together.
Status CheckArrays(const std::vector<NamedArray>& arrays);

/// The text is that of a list of arrays, by its first line.
bool IsArrayList(std::string_view text);
std::string ArrayListText(const std::vector<NamedArray>& arrays);
/// kInvalidData names the first line that is not as expected. What it gives passes CheckArrays.
Result<std::vector<NamedArray>> ParseArrayList(std::string_view text);

/// The first difference between two lists, in one sentence without a stop; "": there is none.
std::string ArrayDifference(const std::vector<NamedArray>& got,
                            const std::vector<NamedArray>& expected);

}  // namespace murmurate
