// HeaderReader: the JSON of a safetensors header, and no other JSON: one object whose members are
// tensors ({"dtype", "shape", "data_offsets"}) and "__metadata__" (strings). It never recurses, so
// no depth of nesting hurts it; it stops at the first thing that does not belong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "murmurate/status.h"

namespace murmurate {

struct HeaderTensor {
  std::string name;
  std::string dtype;
  std::vector<std::uint64_t> shape;
  std::uint64_t begin = 0, end = 0;  ///< bytes from the start of the data
};

class HeaderReader {
 public:
  explicit HeaderReader(std::string_view text) : text_(text) {}

  /// The whole header; spaces may follow it. Tensors come in the order written.
  Status Read(std::vector<HeaderTensor>* tensors, std::map<std::string, std::string>* metadata);

 private:
  Status ReadMetadata(std::map<std::string, std::string>* metadata);
  Status ReadTensor(HeaderTensor* tensor);
  Status ReadField(const std::string& field, HeaderTensor* tensor);
  Status ReadNumbers(std::vector<std::uint64_t>* numbers, std::size_t limit);
  Status ReadString(std::string* value, std::size_t limit);
  Status ReadEscape(std::string* value);
  Status ReadCodePoint(std::string* value);
  bool ReadHex(std::uint32_t* unit);
  /// Reads what follows a member: true when another comes, false at the closing `bracket`.
  Status ReadSeparator(char bracket, bool* more);
  bool Consume(char expected);  ///< skips white space before it
  void SkipSpace();
  Status Fail(const std::string& expected) const;

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace murmurate
