// BodyReader: copies fields out of a verified FlatBuffer; the room's own business.
#pragma once

#include <flatbuffers/flatbuffers.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "murmurate_generated.h"
#include "shared/wire/limits.h"
#include "shared/wire/little_endian.h"
#include "shared/wire/read_body.h"

namespace murmurate::wire {

/// Copies fields out of a verified buffer and remembers the first thing wrong. References may share
/// bytes, so what is copied is counted: never more than came.
class BodyReader {
 public:
  explicit BodyReader(std::size_t budget) : budget_(budget) {}

  bool ok() const { return complaint_.refusal == Refusal::kNone; }
  Complaint TakeComplaint() { return std::move(complaint_); }

  void Expect(bool good, const char* field, const char* expected,
              Refusal refusal = Refusal::kMeaning) {
    if (good || !ok()) return;
    complaint_ = {refusal, std::string(field) + ": expected " + expected};
  }

  std::string Text(const flatbuffers::String* text, const char* field, std::size_t limit) {
    Expect(text != nullptr, field, "a text, got none", Refusal::kMalformed);
    if (!ok()) return "";
    Expect(text->size() <= limit, field, "a shorter text", Refusal::kTooLarge);
    Spend(text->size());
    if (!ok()) return "";
    std::string copy = text->str();
    Expect(copy.find('\0') == copy.npos, field, "a text without zero bytes", Refusal::kMalformed);
    return copy;
  }

  std::string Name(const flatbuffers::String* text, const char* field) {
    std::string name = Text(text, field, kMaxSentence);
    Expect(IsGoodName(name), field, "1 to 64 letters, digits, '.', '_' or '-'");
    return name;
  }

  /// For people's eyes: no control characters reach a terminal.
  std::string Sentence(const flatbuffers::String* text, const char* field) {
    std::string sentence = Text(text, field, kMaxSentence);
    std::replace_if(
        sentence.begin(), sentence.end(),
        [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, '?');
    return sentence;
  }

  template <typename Vector>
  std::size_t Count(const Vector* vector, const char* field, std::size_t limit,
                    std::size_t element_bytes, std::size_t border) {
    Expect(vector != nullptr, field, "a list, got none", Refusal::kMalformed);
    if (!ok()) return 0;
    Expect(vector->size() <= limit, field, "a shorter list", Refusal::kTooLarge);
    // The verifier looks at where a list begins, not at whether its elements lie on their border.
    Expect(vector->size() == 0 || reinterpret_cast<std::uintptr_t>(vector->Data()) % border == 0,
           field, "elements on their border", Refusal::kMalformed);
    Spend(vector->size() * element_bytes);
    return ok() ? vector->size() : 0;
  }

  template <typename Number>
  std::vector<Number> Numbers(const flatbuffers::Vector<Number>* vector, const char* field) {
    std::vector<Number> numbers(Count(vector, field, kMaxAgents, sizeof(Number), sizeof(Number)));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = vector->Get(static_cast<flatbuffers::uoffset_t>(i));
    }
    return numbers;
  }

  std::array<std::uint8_t, 16> Id(const fb::Id* id) {
    std::array<std::uint8_t, 16> bytes{};
    Expect(id != nullptr, "model id", "16 bytes, got none", Refusal::kMalformed);
    if (!ok()) return bytes;
    auto* to = reinterpret_cast<std::byte*>(bytes.data());
    PutLittleEndian(to, id->low());
    PutLittleEndian(to + 8, id->high());
    return bytes;
  }

 private:
  void Spend(std::size_t bytes) {
    Expect(bytes <= budget_, "metadata", "no more than the bytes that came", Refusal::kMalformed);
    if (ok()) budget_ -= bytes;
  }

  std::size_t budget_;
  Complaint complaint_;
};

/// Calls `read(element)` for each of a list while all is well.
template <typename Vector, typename Read>
void ForEach(BodyReader& in, const Vector* vector, std::size_t element_bytes, std::size_t border,
             Read read) {
  const std::size_t count = in.Count(vector, "models", kMaxModels, element_bytes, border);
  for (std::size_t i = 0; i < count && in.ok(); ++i) {
    read(*vector->Get(static_cast<flatbuffers::uoffset_t>(i)));
  }
}

/// Verifies the buffer and calls `read(in, table)`, which gives the Body.
template <typename Table, typename Read>
Complaint ReadRoot(std::span<const std::byte> metadata, Body* body, Read read) {
  constexpr flatbuffers::uoffset_t kMaxDepth = 16, kMaxTables = 4096;
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(metadata.data());
  flatbuffers::Verifier verifier(bytes, metadata.size(), kMaxDepth, kMaxTables);
  if (!verifier.VerifyBuffer<Table>(nullptr)) {
    return {Refusal::kMalformed, "the metadata frame is no valid FlatBuffer of its type"};
  }
  BodyReader in(metadata.size());
  Body got = read(in, *flatbuffers::GetRoot<Table>(bytes));
  if (in.ok()) *body = std::move(got);
  return in.TakeComplaint();
}

}  // namespace murmurate::wire
