// FloatsScanner and TableScanner: payloads of numbers as they lie in memory (payload.h has the
// rules).
#pragma once

#include <string_view>
#include <vector>

#include "server/stream/payload.h"

namespace murmurate {

class FloatsScanner final : public PayloadScanner {
 public:
  void Scan(std::string_view payload, SampleDraft* draft) override;
};

/// schemas/sample.fbs; the only place of the room that includes FlatBuffers.
class TableScanner final : public PayloadScanner {
 public:
  explicit TableScanner(bool takes_device) : takes_device_(takes_device) {}
  void Scan(std::string_view payload, SampleDraft* draft) override;

 private:
  bool takes_device_;
  std::vector<std::uint64_t> aligned_;  ///< a copy, because a payload may lie on any border
};

}  // namespace murmurate
