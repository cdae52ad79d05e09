#include "server/stream/binary_scanners.h"

#include <bit>
#include <cstring>
#include <string_view>

#include "sample_generated.h"
#include "server/stream/sample_draft.h"

namespace murmurate {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are read as they lie");
/// The table itself; nothing in it nests.
constexpr flatbuffers::uoffset_t kMaxDepth = 4, kMaxTables = 1;

std::string_view View(const flatbuffers::String& text) { return {text.c_str(), text.size()}; }

/// False: not one for each field.
template <typename Number>
bool PutAll(const flatbuffers::Vector<Number>& numbers, SampleDraft* draft) {
  if (numbers.size() != draft->fields()) return false;
  int slot = 0;
  for (const double number : numbers) draft->PutDecimal(slot++, number, "");
  return true;
}

}  // namespace

void FloatsScanner::Scan(std::string_view payload, SampleDraft* draft) {
  if (payload.size() != draft->fields() * sizeof(float)) return draft->Refuse(Refusal::kMalformed);
  for (std::size_t i = 0; i < draft->fields(); ++i) {
    float value;
    std::memcpy(&value, payload.data() + i * sizeof value, sizeof value);
    draft->PutDecimal(static_cast<int>(i), value, "");
  }
}

void TableScanner::Scan(std::string_view payload, SampleDraft* draft) {
  if (payload.empty()) return draft->Refuse(Refusal::kMalformed);
  aligned_.resize((payload.size() + 7) / 8);
  std::memcpy(aligned_.data(), payload.data(), payload.size());
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(aligned_.data());
  flatbuffers::Verifier verifier(bytes, payload.size(), kMaxDepth, kMaxTables);
  if (!stream::fb::VerifySampleBuffer(verifier)) return draft->Refuse(Refusal::kMalformed);
  const stream::fb::Sample& sample = *stream::fb::GetSample(bytes);
  const bool whole = sample.numbers() != nullptr
                         ? PutAll(*sample.numbers(), draft)
                         : sample.values() != nullptr && PutAll(*sample.values(), draft);
  if (!whole) return draft->Refuse(Refusal::kMalformed);
  if (sample.time_ns() < 0) return draft->Refuse(Refusal::kBadTime);
  draft->PutInteger(kTimeSlot, static_cast<std::uint64_t>(sample.time_ns()));
  if (sample.sequence()) draft->PutInteger(kSequenceSlot, *sample.sequence());
  if (sample.id() != nullptr) draft->PutText(kIdSlot, View(*sample.id()));
  if (takes_device_ && sample.device() != nullptr)
    draft->PutText(kDeviceSlot, View(*sample.device()));
}

}  // namespace murmurate
