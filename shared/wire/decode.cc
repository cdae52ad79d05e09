// The one reader of messages: what is wrong with a message outside, then the FlatBuffer's verifier,
// then its field list (fields.h), field by field.
#include <flatbuffers/flatbuffers.h>

#include <algorithm>
#include <memory>
#include <type_traits>

#include "murmurate_generated.h"
#include "shared/wire/little_endian.h"
#include "shared/wire/messages.h"

namespace murmurate::wire {
namespace {

template <typename Element>
using ListOf = flatbuffers::Vector<Element>;

template <typename Element>
auto At(const ListOf<Element>& list, std::size_t i) {
  return list.Get(static_cast<flatbuffers::uoffset_t>(i));
}

/// Copies fields out of a verified buffer and remembers the first thing wrong. References may share
/// bytes, so what is copied is counted: never more than came.
class Reader : public Checker {
 public:
  Reader(std::size_t budget, std::size_t of_block) : Checker(of_block), budget_(budget) {}

  template <typename Table, typename Message>
  void ReadTable(const Table& table, Message& message) {
    Message::Fields(message, [&](auto&&... value) {
      static_assert(sizeof...(value) == Table::Traits::fields_number,
                    "the schema has other fields");
      ReadFields(table, std::make_index_sequence<sizeof...(value)>(), value...);
    });
    if constexpr (requires { message.Check(*this); }) {
      if (ok()) message.Check(*this);
    }
  }

 private:
  template <typename Table, std::size_t... I, typename... Value>
  void ReadFields(const Table& table, std::index_sequence<I...>, Value&... value) {
    ((ok() ? ReadField<I>(table, value) : void()), ...);
  }
  template <std::size_t I, typename Table, typename Value>
  void ReadField(const Table& table, Value& value) {
    const auto from = table.template get_field<I>();
    if constexpr (std::is_convertible_v<decltype(from), const ListOf<float>*>) {
      if (table.template get_field<I + 1>() != nullptr) return;  // the same numbers as float64
    }
    Read(from, value);
  }

  // Read(what the schema's accessor returns, where it goes to), of one field.
  template <typename From, typename To>
  void Read(const From& from, To& to) {
    to = static_cast<To>(from);
  }
  void Read(std::uint32_t flags, bool& to) { to = (flags & 1) != 0; }
  template <typename Number>
  void Read(const flatbuffers::Optional<Number>& from, std::optional<Number>& to) {
    if (from) to = *from;
  }
  void Read(const fb::Id* from, std::array<std::uint8_t, 16>& to) {
    Expect(from != nullptr, "model id", "16 bytes, got none", Refusal::kMalformed);
    if (!ok()) return;
    auto* bytes = reinterpret_cast<std::byte*>(to.data());
    PutLittleEndian(bytes, from->low());
    PutLittleEndian(bytes + 8, from->high());
  }
  template <typename From, typename To>
  void Read(const From& from, Field<To, Range>& field) {
    const auto number = static_cast<double>(from);
    const Range& range = field.rule;
    Expect(number >= range.least && number <= range.most, range.field, range.expected,
           range.refusal);
    Read(from, field.value);
  }
  template <typename From, typename To>
  void Read(const From* from, Field<To, Rule>& field) {
    if (from != nullptr || field.rule.form != Form::kOptional) Get(from, field.rule, field.value);
  }

  // Get(reference, rule, where it goes to), of a text, a list or the numbers of a message.
  void Get(const flatbuffers::String* from, const Rule& rule, std::string& to) {
    Expect(from != nullptr, rule.field, "a text, got none", Refusal::kMalformed);
    if (!ok()) return;
    Expect(from->size() <= rule.limit, rule.field, "a shorter text", Refusal::kTooLarge);
    Spend(from->size());
    if (!ok()) return;
    to = from->str();
    Expect(to.find('\0') == to.npos, rule.field, "a text without zero bytes", Refusal::kMalformed);
    Expect(rule.form != Form::kName || IsGoodName(to), rule.field,
           "1 to 64 letters, digits, '.', '_' or '-'");
    const auto controls = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
    if (rule.form == Form::kSentence) std::replace_if(to.begin(), to.end(), controls, '?');
  }
  void Get(const ListOf<flatbuffers::Offset<flatbuffers::String>>* from, const Rule& rule,
           std::vector<std::string>& to) {
    to.resize(Count(from, rule, 4, 4));
    for (std::size_t i = 0; i < to.size() && ok(); ++i)
      Get(At(*from, i), Name("field name"), to[i]);
  }
  template <typename From, typename To>
  void Get(const ListOf<From>* from, const Rule& rule,
           std::vector<To>& to) requires std::is_arithmetic_v<From> {
    to.resize(Count(from, rule, sizeof(From), sizeof(From)));
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = At(*from, i);
  }
  void Get(const ListOf<const fb::ColumnRange*>* from, const Rule& rule,
           std::array<ColumnRange, kColumnCount>& to) {
    const std::size_t count = Count(from, rule, sizeof(ColumnRange), 4);
    Expect(count >= kPlainColumnCount, rule.field, "8 to 11", Refusal::kMalformed);
    for (std::size_t i = 0; i < count && ok(); ++i)
      to[i] = {At(*from, i)->offset(), At(*from, i)->bytes()};
  }
  void Get(const ListOf<const fb::VersionChange*>* from, const Rule& rule, VersionChanges& to) {
    const std::size_t count = Count(from, rule, sizeof(VersionChange), 2);
    for (std::size_t i = 0; i < count && ok(); ++i)
      Expect(to.Add(At(*from, i)->step(), At(*from, i)->later()), rule.field,
             "later steps under newer versions, one after the other");
  }
  template <typename From, typename To>
  void Get(const ListOf<From>* from, const Rule& rule,
           std::vector<To>& to) requires std::is_class_v<To> {
    using Struct = std::remove_pointer_t<From>;  // or an offset to a table
    to.resize(Count(from, rule, sizeof(Struct), alignof(Struct)));
    for (std::size_t i = 0; i < to.size() && ok(); ++i) ReadTable(*At(*from, i), to[i]);
  }
  /// Reads the numbers of a message that travel as float32 in one field or as float64 in the next.
  template <typename Number, typename Message>
  void Get(const ListOf<Number>* from, const Rule& rule, Message& message) requires requires {
    message.doubles;
  }
  {
    std::vector<double> numbers;
    Get(from, rule, numbers);
    if (!ok()) return;
    message.doubles = std::is_same_v<Number, double>;
    if (message.doubles)
      message.SetDoubles(std::move(numbers), *this);
    else
      message.SetFloats(std::move(numbers));
  }

  /// The length of a list, once it is known to be readable.
  template <typename List>
  std::size_t Count(const List* list, const Rule& rule, std::size_t element_bytes,
                    std::size_t border) {
    Expect(list != nullptr, rule.field, "a list, got none", Refusal::kMalformed);
    if (!ok()) return 0;
    Expect(list->size() <= rule.limit, rule.field, "a shorter list", Refusal::kTooLarge);
    // The verifier checks where a list begins, not whether its elements lie on their border.
    Expect(list->size() == 0 || reinterpret_cast<std::uintptr_t>(list->Data()) % border == 0,
           rule.field, "elements on their border", Refusal::kMalformed);
    Spend(list->size() * element_bytes);
    return ok() ? list->size() : 0;
  }
  void Spend(std::size_t bytes) {
    Expect(bytes <= budget_, "metadata", "no more than the bytes that came", Refusal::kMalformed);
    if (ok()) budget_ -= bytes;
  }

  std::size_t budget_;
};

/// Small ZeroMQ payloads start anywhere; FlatBuffers must start on the border of its largest
/// number.
class AlignedCopy {
 public:
  explicit AlignedCopy(std::span<const std::byte> bytes) : size_(bytes.size()) {
    if (size_ > sizeof(small_)) large_ = std::make_unique<Line[]>(size_ / sizeof(Line) + 1);
    std::copy(bytes.begin(), bytes.end(), data());
  }
  std::span<const std::byte> bytes() { return {data(), size_}; }

 private:
  struct alignas(16) Line {
    std::byte bytes[16];
  };
  std::byte* data() { return large_ ? large_[0].bytes : small_; }

  std::size_t size_;
  std::unique_ptr<Line[]> large_;
  alignas(16) std::byte small_[kMaxMetadataBytes];
};

/// `metadata` must be 16-byte aligned.
template <typename Message>
Complaint ReadBody(std::span<const std::byte> metadata, std::size_t block_bytes, Body* body) {
  constexpr flatbuffers::uoffset_t kMaxDepth = 16, kMaxTables = 4096;
  using Table = typename decltype(Message::kRow)::Table;
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(metadata.data());
  flatbuffers::Verifier verifier(bytes, metadata.size(), kMaxDepth, kMaxTables);
  if (!verifier.VerifyBuffer<Table>(nullptr))
    return {Refusal::kMalformed, "the metadata frame is no valid FlatBuffer of its type"};
  Reader in(metadata.size(), block_bytes);
  in.ReadTable(*flatbuffers::GetRoot<Table>(bytes), body->emplace<Message>());
  return in.MoveComplaint();
}

/// A message's row, and how its metadata is read.
struct Entry {
  MessageType type{};
  std::size_t limit = 0;
  bool has_block = false;
  Complaint (*read)(std::span<const std::byte> metadata, std::size_t block_bytes,
                    Body* body) = nullptr;
};

constexpr std::size_t kTypes = 64;  ///< more than there are

/// All messages, each at the number of its type.
template <typename... Message>
constexpr std::array<Entry, kTypes> EntriesOf(const std::variant<Message...>*) {
  std::array<Entry, kTypes> entries{};
  for (const Entry& entry : {Entry{Message::kRow.type, Message::kRow.limit, Message::kRow.has_block,
                                   &ReadBody<Message>}...}) {
    Entry& at = entries[static_cast<std::size_t>(entry.type)];
    if (at.read != nullptr) throw "two messages have the same type";
    at = entry;
  }
  return entries;
}

/// Null: no such message is known.
const Entry* Find(MessageType type) {
  static constexpr auto kEntries = EntriesOf(static_cast<const Body*>(nullptr));
  const auto number = static_cast<std::size_t>(type);
  return number < kTypes && kEntries[number].read != nullptr ? &kEntries[number] : nullptr;
}

Header ReadHeader(const std::byte* bytes) {
  Header header;
  header.major = GetLittleEndian<std::uint8_t>(bytes + 4);
  header.minor = GetLittleEndian<std::uint8_t>(bytes + 5);
  header.type = static_cast<MessageType>(GetLittleEndian<std::uint16_t>(bytes + 6));
  header.flags = GetLittleEndian<std::uint32_t>(bytes + 8);
  header.body_bytes = GetLittleEndian<std::uint32_t>(bytes + 12);
  header.sender = GetLittleEndian<std::uint64_t>(bytes + 16);
  header.sequence = GetLittleEndian<std::uint64_t>(bytes + 24);
  return header;
}

using Frames = std::span<const std::span<const std::byte>>;

/// Says what is wrong before a byte of the metadata is read; refusal kNone when nothing is.
Complaint CheckOutside(const Header& header, const Entry* entry, Frames frames) {
  if (header.major != kMajor) {
    return {Refusal::kVersion, "this side speaks protocol version " + std::to_string(kMajor) +
                                   ", the message has " + std::to_string(header.major) +
                                   ": update the older of the two programs"};
  }
  if (entry == nullptr) {
    return {Refusal::kUnknownType, "message type " + std::to_string(static_cast<int>(header.type)) +
                                       " is not known here: update the older of the two programs"};
  }
  if (header.flags != 0) return {Refusal::kMalformed, "header flags: expected 0"};
  const std::size_t expected = entry->has_block ? 3 : 2;
  if (frames.size() != expected) {
    return {Refusal::kMalformed, "expected " + std::to_string(expected) + " frames, got " +
                                     std::to_string(frames.size())};
  }
  const std::size_t limit = entry->limit;
  if (frames[1].size() > limit) {
    return {Refusal::kTooLarge, "metadata: expected at most " + std::to_string(limit) +
                                    " bytes, got " + std::to_string(frames[1].size())};
  }
  const std::size_t body = frames[1].size() + (entry->has_block ? frames[2].size() : 0);
  if (header.body_bytes != body) {
    return {Refusal::kMalformed, "the header says " + std::to_string(header.body_bytes) +
                                     " bytes follow, got " + std::to_string(body)};
  }
  return {};
}

}  // namespace

std::optional<Header> PeekHeader(Frames frames) {
  if (frames.empty() || frames[0].size() != kHeaderBytes) return std::nullopt;
  if (GetLittleEndian<std::uint32_t>(frames[0].data()) != kMagic) return std::nullopt;
  return ReadHeader(frames[0].data());
}

std::variant<Decoded, DecodeFailure> Decode(Frames frames) {
  if (frames.empty() || frames[0].size() != kHeaderBytes) {
    return DecodeFailure{Refusal::kMalformed, "expected a header of 32 bytes", 0, 0};
  }
  if (GetLittleEndian<std::uint32_t>(frames[0].data()) != kMagic) {
    return DecodeFailure{Refusal::kMalformed, "expected a header that starts with MMR1", 0, 0};
  }
  Decoded decoded;
  decoded.header = ReadHeader(frames[0].data());
  const Entry* entry = Find(decoded.header.type);
  Complaint complaint = CheckOutside(decoded.header, entry, frames);
  if (complaint.refusal == Refusal::kNone) {
    if (entry->has_block) decoded.block = frames[2];
    AlignedCopy metadata(frames[1]);
    complaint = entry->read(metadata.bytes(), decoded.block.size(), &decoded.body);
  }
  if (complaint.refusal == Refusal::kNone) return decoded;
  return DecodeFailure{complaint.refusal, std::move(complaint.sentence), decoded.header.sender,
                       decoded.header.sequence};
}

}  // namespace murmurate::wire
