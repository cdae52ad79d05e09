#include "server/stream/sample_reader.h"

namespace murmurate {
namespace {

/// The draft's rules are those of a FlatBuffer that names its device.
PayloadSettings RulesOf(const std::vector<FieldSettings>& fields) {
  PayloadSettings rules;
  rules.format = PayloadFormat::kFlatBuffer;
  rules.fields = fields;
  rules.device = "device";
  return rules;
}

}  // namespace

SampleReader::SampleReader(const std::vector<FieldSettings>& fields) : draft_(RulesOf(fields)) {}

Refusal SampleReader::Read(const wire::Sample& sample) {
  draft_.Begin(&sample_);
  if (sample.values.size() != draft_.fields()) return Refusal::kMalformed;
  for (std::size_t i = 0; i < sample.values.size(); ++i)
    draft_.PutDecimal(static_cast<int>(i), sample.values[i], "");
  if (sample.time_ns < 0) return Refusal::kBadTime;
  draft_.PutInteger(kTimeSlot, static_cast<std::uint64_t>(sample.time_ns));
  if (sample.sequence) draft_.PutInteger(kSequenceSlot, *sample.sequence);
  if (!sample.id.empty()) draft_.PutText(kIdSlot, sample.id);
  draft_.PutText(kDeviceSlot, sample.device);
  return draft_.End();
}

}  // namespace murmurate
