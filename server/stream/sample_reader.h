// SampleReader: a SAMPLE of the wire as a Sample, by the rules for all formats of payloads.
#pragma once

#include <span>
#include <vector>

#include "server/stream/sample_draft.h"
#include "shared/wire/messages.h"

namespace murmurate {

class SampleReader {
 public:
  explicit SampleReader(const std::vector<FieldSettings>& fields);

  /// kNone: sample() says what it says, until the next call.
  Refusal Read(const wire::Sample& sample);
  const Sample& sample() const { return sample_; }
  std::span<const FieldCounts> counts() const { return draft_.counts(); }

 private:
  SampleDraft draft_;
  Sample sample_;
};

}  // namespace murmurate
