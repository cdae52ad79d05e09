// The one writer of messages: goes through their field lists (fields.h) and builds the FlatBuffer.
// Write<Type>(builder, value) writes a field of which the schema's accessor returns Type, and
// returns what the generated Create takes of it. What is no number is written before its table.
#include <flatbuffers/flatbuffers.h>

#include <algorithm>
#include <tuple>
#include <type_traits>

#include "murmurate_generated.h"
#include "shared/wire/little_endian.h"
#include "shared/wire/messages.h"

namespace murmurate::wire {
namespace {

using Builder = flatbuffers::FlatBufferBuilder;
template <typename Element>
using ListOf = flatbuffers::Vector<Element>;
template <typename Table, std::size_t I>
using FieldType = typename Table::Traits::template FieldType<I>;
/// Offset<String> for const String*.
template <typename Type>
using OffsetTo = flatbuffers::Offset<std::remove_const_t<std::remove_pointer_t<Type>>>;

template <typename Table, typename Message>
flatbuffers::Offset<Table> WriteTable(Builder& builder, const Message& message);

template <typename Type, typename Number>
Type Write(Builder&, const Number& number) {
  static_assert(sizeof(Type) == sizeof(Number) || !std::is_integral_v<Number> ||
                std::is_same_v<Number, bool>);
  return static_cast<Type>(number);
}

template <typename Type, typename Number>
Type Write(Builder&, const std::optional<Number>& number) {
  return number ? Type(*number) : Type();
}

template <typename Type>
fb::Id Write(Builder&, const std::array<std::uint8_t, 16>& id) {
  const auto* bytes = reinterpret_cast<const std::byte*>(id.data());
  return {GetLittleEndian<std::uint64_t>(bytes), GetLittleEndian<std::uint64_t>(bytes + 8)};
}

template <typename Type, typename Number>
Type Write(Builder& builder, const Field<const Number, Range>& field) {
  return Write<Type>(builder, field.value);
}

OffsetTo<flatbuffers::String> Put(Builder& builder, const std::string& text, const Rule& rule,
                                  const flatbuffers::String*) {
  return builder.CreateString(text.data(), std::min(text.size(), rule.cut));
}

auto Put(Builder& builder, const std::vector<std::string>& texts, const Rule&,
         const ListOf<flatbuffers::Offset<flatbuffers::String>>*) {
  return builder.CreateVectorOfStrings(texts);
}

template <typename Number>
auto Put(Builder& builder, const std::vector<Number>& numbers, const Rule&, const ListOf<Number>*) {
  return builder.CreateVector(numbers);
}

/// Columns at the end of the list that hold nothing are left out: a plain trajectory has 8.
auto Put(Builder& builder, const std::array<ColumnRange, kColumnCount>& columns, const Rule&,
         const ListOf<const fb::ColumnRange*>*) {
  std::size_t used = kColumnCount;
  while (used > kPlainColumnCount && columns[used - 1].bytes == 0) --used;
  return builder.CreateVectorOfNativeStructs<fb::ColumnRange, ColumnRange>(
      columns.data(), used,
      [](const ColumnRange& range) { return fb::ColumnRange(range.offset, range.bytes); });
}

auto Put(Builder& builder, const VersionChanges& changes, const Rule&,
         const ListOf<const fb::VersionChange*>*) {
  return builder.CreateVectorOfNativeStructs<fb::VersionChange, VersionChange>(
      changes.all().data(), changes.all().size(),
      [](const VersionChange& change) { return fb::VersionChange(change.step, change.later); });
}

template <typename Struct, std::size_t... I, typename... Number>
Struct MakeStruct(std::index_sequence<I...>, const Number&... number) {
  static_assert(sizeof...(I) == Struct::Traits::fields_number, "the schema has other fields");
  return Struct(static_cast<FieldType<Struct, I>>(number)...);
}

template <typename Struct, typename Element>
auto Put(Builder& builder, const std::vector<Element>& list, const Rule&,
         const ListOf<const Struct*>*) {
  return builder.CreateVectorOfNativeStructs<Struct, Element>(
      list.data(), list.size(), [](const Element& element) {
        return Element::Fields(element, [](const auto&... number) {
          return MakeStruct<Struct>(std::make_index_sequence<sizeof...(number)>(), number...);
        });
      });
}

template <typename Table, typename Element>
auto Put(Builder& builder, const std::vector<Element>& list, const Rule& rule,
         const ListOf<flatbuffers::Offset<Table>>*) {
  std::vector<flatbuffers::Offset<Table>> tables(std::min(list.size(), rule.cut));
  for (std::size_t i = 0; i < tables.size(); ++i) tables[i] = WriteTable<Table>(builder, list[i]);
  return builder.CreateVector(tables);
}

/// A message whose numbers travel as float32 in one field or as float64 in the next.
template <typename Message>
OffsetTo<ListOf<float>> Put(Builder& builder, const Message& message, const Rule&,
                            const ListOf<float>*) {
  if (message.doubles) return 0;
  float* to = nullptr;
  const auto written = builder.CreateUninitializedVector(message.Floats().size(), &to);
  for (const double number : message.Floats()) *to++ = static_cast<float>(number);
  return written;
}

template <typename Message>
OffsetTo<ListOf<double>> Put(Builder& builder, const Message& message, const Rule&,
                             const ListOf<double>*) requires requires {
  message.doubles;
}
{ return message.doubles ? builder.CreateVector(message.Doubles()) : 0; }

template <typename Type, typename Value>
OffsetTo<Type> Write(Builder& builder, const Field<const Value, Rule>& field) {
  if constexpr (requires { field.value.empty(); }) {
    if (field.rule.form == Form::kOptional && field.value.empty()) return 0;
  }
  return Put(builder, field.value, field.rule, Type());
}

/// Turns what Write returned into what Create takes.
template <typename Written>
const auto& Argument(const Written& written) {
  return written;
}
const fb::Id* Argument(const fb::Id& id) { return &id; }

template <typename Table, std::size_t... I, typename... Value>
flatbuffers::Offset<Table> CreateTable(Builder& builder, std::index_sequence<I...>,
                                       const Value&... value) {
  static_assert(sizeof...(I) == Table::Traits::fields_number, "the schema has other fields");
  std::tuple<decltype(Write<FieldType<Table, I>>(builder, value))...> written;
  const auto values = std::tie(value...);
  constexpr std::size_t kLast = sizeof...(I) - 1;
  ((std::get<kLast - I>(written) =
        Write<FieldType<Table, kLast - I>>(builder, std::get<kLast - I>(values))),
   ...);
  return Table::Traits::Create(builder, Argument(std::get<I>(written))...);
}

template <typename Table, typename Message>
flatbuffers::Offset<Table> WriteTable(Builder& builder, const Message& message) {
  return Message::Fields(message, [&](const auto&... value) {
    return CreateTable<Table>(builder, std::make_index_sequence<sizeof...(value)>(), value...);
  });
}

}  // namespace

Encoded Encode(const Body& body, std::uint64_t sender, std::uint64_t sequence,
               std::size_t block_bytes) {
  Builder builder(512);
  const MessageType type = std::visit(
      [&builder]<typename Message>(const Message& message) {
        using Table = typename decltype(Message::kRow)::Table;
        builder.Finish(WriteTable<Table>(builder, message));
        return Message::kRow.type;
      },
      body);
  Encoded encoded;
  const auto* start = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
  encoded.metadata.assign(start, start + builder.GetSize());
  std::byte* header = encoded.header.data();
  PutLittleEndian(header, kMagic);
  PutLittleEndian(header + 4, kMajor);
  PutLittleEndian(header + 5, kMinor);
  PutLittleEndian(header + 6, static_cast<std::uint16_t>(type));
  PutLittleEndian(header + 8, std::uint32_t{0});
  PutLittleEndian(header + 12, static_cast<std::uint32_t>(encoded.metadata.size() + block_bytes));
  PutLittleEndian(header + 16, sender);
  PutLittleEndian(header + 24, sequence);
  return encoded;
}

}  // namespace murmurate::wire
