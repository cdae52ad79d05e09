#include "server/parameters/tensor_ranges.h"

#include <algorithm>

namespace murmurate {

std::vector<SectionRange> RangesOf(const ParameterLayout& layout, SectionRange range,
                                   bool (*chosen)(const TensorSlot&)) {
  std::vector<SectionRange> ranges;
  for (const TensorSlot& tensor : layout.tensors) {
    if (!chosen(tensor)) continue;
    const std::size_t begin = std::max(tensor.offset, range.offset);
    const std::size_t end = std::min(tensor.offset + tensor.count, range.offset + range.count);
    if (begin < end) ranges.push_back({begin - range.offset, end - begin});
  }
  return ranges;
}

}  // namespace murmurate
