// Field lists: a message is a struct that says itself how it lies on the wire.
//
//   kRow              the table of schemas/murmurate.fbs, the type's number, limit, block
//   Fields(m, visit)  calls visit once with all its fields, in the order of the schema
//   Check(checker)    says what must hold between its fields; may be missing
//
// It stands in the variant of its protocol (actor_messages.h, shard_messages.h, stream_messages.h,
// admin_messages.h); the elements of its lists have Fields too, and no kRow. One writer (encode.cc)
// and one reader (decode.cc) go through the lists; a list that does not fit the schema does not
// compile. A field is a member, with a Rule where its type does not say everything: `m.name |
// Name("model name")`. Numbers, enumerators, ids of 16 bytes and optional numbers need none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "shared/wire/protocol.h"

namespace murmurate::wire {

/// The decoder's state before it reads the metadata of a message.
template <typename FlatTable>
struct Row {
  using Table = FlatTable;
  MessageType type{};
  std::size_t limit = kMaxMetadataBytes;  ///< bytes of the metadata frame
  bool has_block = false;                 ///< a third frame follows
};

/// A Complaint says why something is refused; refusal kNone: it is not.
struct Complaint {
  Refusal refusal = Refusal::kNone;
  std::string sentence;
};

/// Collects what a message that came must hold to; remembers the first thing wrong.
class Checker {
 public:
  explicit Checker(std::size_t of_block) : block_bytes(of_block) {}

  void Expect(bool good, const char* field, const char* expected,
              Refusal refusal = Refusal::kMeaning) {
    if (good || !ok()) return;
    complaint_ = {refusal, std::string(field) + ": expected " + expected};
  }
  bool ok() const { return complaint_.refusal == Refusal::kNone; }
  Complaint MoveComplaint() { return std::move(complaint_); }

  const std::size_t block_bytes;  ///< of the message's third frame

 private:
  Complaint complaint_;
};

enum class Form : std::uint8_t {
  kPlain,
  kOptional,  ///< a text or list that is not sent when it is empty
  kName,      ///< a text that IsGoodName
  kSentence,  ///< a text for people: control characters become '?'
};

/// A Rule limits a text or a list.
struct Rule {
  const char* field;  ///< its name in a refusal
  std::size_t limit;  ///< bytes or elements: more are refused
  Form form = Form::kPlain;
  std::size_t cut = SIZE_MAX;  ///< more bytes or elements are not sent
};
/// A Range limits a number.
struct Range {
  const char* field;
  double least, most;
  const char* expected;
  Refusal refusal = Refusal::kMeaning;
};

constexpr Rule Name(const char* field) { return {field, kMaxSentence, Form::kName}; }
constexpr Rule Sentence(const char* field, std::size_t cut = kMaxSentence) {
  return {field, kMaxSentence, Form::kSentence, cut};
}
constexpr Range Finite(const char* field, const char* expected) {
  constexpr double kMost = std::numeric_limits<double>::max();
  return {field, -kMost, kMost, expected, Refusal::kNotFinite};
}

template <typename Value, typename Ruling>
struct Field {
  Value& value;
  Ruling rule;
};
template <typename Value>
Field<Value, Rule> operator|(Value& value, const Rule& rule) {
  return {value, rule};
}
template <typename Value>
Field<Value, Range> operator|(Value& value, const Range& range) {
  return {value, range};
}

}  // namespace murmurate::wire
