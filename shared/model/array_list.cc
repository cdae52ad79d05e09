#include "shared/model/array_list.h"

#include <algorithm>
#include <cstdint>
#include <set>

#include "shared/model/text.h"

namespace murmurate {
namespace {

constexpr std::string_view kFirstLine = "murmurate-arrays 1";
constexpr std::string_view kArray = "array";
constexpr std::size_t kMaxTextBytes = 128 * 1024;
constexpr std::size_t kMaxArrays = 4096, kMaxName = 128, kMaxDimensions = 8;
constexpr std::uint64_t kMaxNumbers = std::uint64_t{1} << 28;  // 1 GiB

bool IsArrayName(std::string_view name) {
  return !name.empty() && name.size() <= kMaxName &&
         std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c <= '~'; });
}

Status Unexpected(std::string_view line) {
  return InvalidData("the text of a list of arrays has " + Quote(line) +
                     " where \"array NAME SIZE SIZE ...\" was expected: it is damaged");
}

Result<NamedArray> ParseArray(std::string_view line) {
  const std::vector<std::string_view> words = SplitWords(line);
  if (words.size() < 2 || words[0] != kArray) return Unexpected(line);
  NamedArray array{std::string(words[1]), {}};
  for (std::size_t i = 2; i < words.size(); ++i) {
    const auto size = ParseCount(words[i], kMaxNumbers);
    if (!size) return Unexpected(line);
    array.shape.push_back(static_cast<int>(*size));
  }
  return array;
}

}  // namespace

std::size_t NamedArray::count() const {
  std::size_t count = 1;
  for (const int size : shape) count *= static_cast<std::size_t>(size);
  return count;
}

Status CheckArrays(const std::vector<NamedArray>& arrays) {
  if (arrays.empty() || arrays.size() > kMaxArrays)
    return InvalidArgument("got " + std::to_string(arrays.size()) +
                           " arrays, expected 1 to 4096; join small ones into one");
  std::set<std::string_view> names;
  std::uint64_t numbers = 0;
  for (const NamedArray& array : arrays) {
    const std::string who = "the array " + Quote(array.name);
    if (!IsArrayName(array.name))
      return InvalidArgument(who +
                             ": a name has 1 to 128 printable characters of ASCII and no space");
    if (!names.insert(array.name).second) return InvalidArgument(who + " is given twice");
    if (array.shape.size() > kMaxDimensions)
      return InvalidArgument(who + " has " + std::to_string(array.shape.size()) +
                             " dimensions, expected at most 8; reshape it");
    std::uint64_t count = 1;
    for (const int size : array.shape) {
      if (size < 1)
        return InvalidArgument(who + " has the shape " + ShapeText(array.shape) +
                               ": each size must be 1 or more");
      count *= static_cast<std::uint64_t>(size);
      if (count > kMaxNumbers) break;
    }
    numbers += count;
    if (numbers > kMaxNumbers)
      return InvalidArgument("the arrays up to " + Quote(array.name) +
                             " have more than 268435456 numbers (1 GiB); use another model name "
                             "for a part of them");
  }
  return {};
}

bool IsArrayList(std::string_view text) { return text.starts_with(kFirstLine); }

std::string ArrayListText(const std::vector<NamedArray>& arrays) {
  std::string text = std::string(kFirstLine) + '\n';
  for (const NamedArray& array : arrays) {
    text += std::string(kArray) + ' ' + array.name;
    for (const int size : array.shape) text += ' ' + std::to_string(size);
    text += '\n';
  }
  return text;
}

Result<std::vector<NamedArray>> ParseArrayList(std::string_view text) {
  if (text.size() > kMaxTextBytes)
    return InvalidData("the list of arrays takes " + std::to_string(text.size()) +
                       " bytes where at most 131072 were expected: use shorter names");
  std::vector<NamedArray> arrays;
  bool first = true;
  for (const std::string_view line : SplitLines(text)) {
    if (first) {
      if (line != kFirstLine) return Unexpected(line);
      first = false;
      continue;
    }
    Result<NamedArray> array = ParseArray(line);
    if (!array.ok()) return array.status();
    arrays.push_back(*std::move(array));
  }
  if (Status status = CheckArrays(arrays); !status.ok()) return InvalidData(status.message());
  return arrays;
}

std::string ArrayDifference(const std::vector<NamedArray>& got,
                            const std::vector<NamedArray>& expected) {
  for (std::size_t i = 0; i < std::min(got.size(), expected.size()); ++i) {
    if (got[i].name != expected[i].name)
      return "array " + std::to_string(i) + " is " + Quote(got[i].name) + " instead of " +
             Quote(expected[i].name);
    if (got[i].shape != expected[i].shape)
      return Quote(got[i].name) + " has the shape " + ShapeText(got[i].shape) + " instead of " +
             ShapeText(expected[i].shape);
  }
  if (got.size() == expected.size()) return "";
  return std::to_string(got.size()) + " arrays instead of " + std::to_string(expected.size());
}

}  // namespace murmurate
