#include "server/data/record_format.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>

#include "shared/core/check.h"
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace murmurate {
namespace {

static_assert(std::endian::native == std::endian::little, "files hold numbers as memory does");
constexpr std::size_t kLine = 64;
constexpr std::uint32_t kVersion = 2;
constexpr std::uint32_t kMaxSpecBytes = 1 << 14;

struct HeaderFields {
  std::array<char, 8> magic{'M', 'M', 'R', 'T', 'R', 'A', 'J', 0};
  std::uint32_t version = kVersion, bytes = 0, length = 0, spec_bytes = 0;
  std::uint64_t spec_hash = 0;
};
static_assert(sizeof(HeaderFields) == 32);

struct RecordFields {
  std::array<char, 4> magic{'T', 'R', 'E', 'C'};
  std::uint32_t bytes = 0;
  std::uint64_t hash = 0;
  std::uint32_t agent = 0, steps = 0;
  std::uint64_t first_step = 0, version = 0;
  std::array<std::uint32_t, kColumnCount> column_bytes{};
  std::uint32_t changes = 0;
};
static_assert(offsetof(RecordFields, changes) == 84 && sizeof(RecordFields) <= kRecordHeadBytes);
static_assert(VersionChanges::kMost * sizeof(VersionChange) <= kRecordChangesBytes);
constexpr std::size_t kHashedFrom = 16;

std::size_t RoundUp(std::size_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

std::uint64_t Hash(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

using Columns = std::array<std::span<const std::byte>, kColumnCount>;

Columns ColumnsOf(const TrajectoryView& view) {
  Columns columns;
  const auto at = [&](Column column) -> std::span<const std::byte>& {
    return columns[static_cast<int>(column)];
  };
  at(Column::kObservation) = view.observation;
  at(Column::kAction) = std::as_bytes(view.action);
  at(Column::kLogProb) = std::as_bytes(view.log_prob);
  at(Column::kReward) = std::as_bytes(view.reward);
  at(Column::kFlags) = std::as_bytes(view.flags);
  at(Column::kFinalObservation) = view.final_observation;
  at(Column::kNextObservation) = view.next_observation;
  at(Column::kEpisodes) = std::as_bytes(view.episodes);
  at(Column::kMask) = std::as_bytes(view.mask);
  at(Column::kState0) = std::as_bytes(view.state0);
  at(Column::kFrames0) = view.frames0;
  return columns;
}

template <typename T>
std::span<const T> As(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
}

TrajectoryView ViewOf(const RecordFields& fields, const Columns& columns) {
  const auto at = [&](Column column) { return columns[static_cast<int>(column)]; };
  TrajectoryView view;
  view.agent = fields.agent;
  view.first_step = fields.first_step;
  view.version = fields.version;
  view.steps = static_cast<int>(fields.steps);
  view.observation = at(Column::kObservation);
  view.action = As<std::int32_t>(at(Column::kAction));
  view.log_prob = As<float>(at(Column::kLogProb));
  view.reward = As<float>(at(Column::kReward));
  view.flags = As<std::uint8_t>(at(Column::kFlags));
  view.final_observation = at(Column::kFinalObservation);
  view.next_observation = at(Column::kNextObservation);
  view.episodes = As<EpisodeRecord>(at(Column::kEpisodes));
  view.mask = As<std::uint8_t>(at(Column::kMask));
  view.state0 = As<float>(at(Column::kState0));
  view.frames0 = at(Column::kFrames0);
  return view;
}

/// Writes a part of a record at `end` and zeros up to the next border, which it returns.
std::size_t PutPart(std::span<const std::byte> part, std::size_t end, std::span<std::byte> record) {
  const std::size_t whole = RoundUp(part.size());
  MURMURATE_CHECK(end + whole <= record.size(), "a trajectory larger than its layout");
  std::ranges::copy(part, record.begin() + static_cast<std::ptrdiff_t>(end));
  std::ranges::fill(record.subspan(end + part.size(), whole - part.size()), std::byte{0});
  return end + whole;
}

/// False: they are not in order.
bool ReadChanges(std::span<const std::byte> bytes, VersionChanges* changes) {
  return std::ranges::all_of(As<VersionChange>(bytes), [&](const VersionChange& change) {
    return changes->Add(change.step, change.later);
  });
}

}  // namespace

std::vector<std::byte> SegmentHeader(const ModelSpec& spec, int length) {
  const std::string text = spec.ToText();
  HeaderFields fields;
  fields.bytes = static_cast<std::uint32_t>(RoundUp(sizeof fields + text.size()));
  fields.length = static_cast<std::uint32_t>(length);
  fields.spec_bytes = static_cast<std::uint32_t>(text.size());
  fields.spec_hash = Hash(std::as_bytes(std::span(text)));
  std::vector<std::byte> header(fields.bytes);
  std::memcpy(header.data(), &fields, sizeof fields);
  std::memcpy(header.data() + sizeof fields, text.data(), text.size());
  return header;
}

Result<SegmentInfo> ReadSegmentHeader(std::span<const std::byte> file) {
  HeaderFields fields;
  if (file.size() < sizeof fields) return InvalidData("is too short to be a recording");
  std::memcpy(&fields, file.data(), sizeof fields);
  if (fields.magic != HeaderFields().magic) return InvalidData("is no recording of trajectories");
  if (fields.version < 1 || fields.version > kVersion)
    return InvalidData("is a recording of version " + std::to_string(fields.version) +
                       ", expected 1 or 2; read it with the murmurate that wrote it");
  const bool fits = fields.spec_bytes <= kMaxSpecBytes && fields.bytes <= file.size() &&
                    fields.bytes == RoundUp(sizeof fields + fields.spec_bytes) &&
                    fields.length >= 1 && fields.length <= 65536;
  const auto spec_bytes = fits ? file.subspan(sizeof fields, fields.spec_bytes) : file.first(0);
  if (!fits || Hash(spec_bytes) != fields.spec_hash) return InvalidData("has a damaged header");
  Result<ModelSpec> spec =
      ModelSpec::Parse({reinterpret_cast<const char*>(spec_bytes.data()), spec_bytes.size()});
  if (!spec.ok())
    return InvalidData("holds a model that cannot be read: " + spec.status().message());
  return SegmentInfo{*std::move(spec), static_cast<int>(fields.length), fields.bytes};
}

std::size_t WriteRecord(const TrajectoryView& view, std::span<std::byte> record) {
  const Columns columns = ColumnsOf(view);
  RecordFields fields;
  fields.agent = view.agent;
  fields.steps = static_cast<std::uint32_t>(view.steps);
  fields.first_step = view.first_step;
  fields.version = view.version;
  std::size_t end = kRecordHeadBytes;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    fields.column_bytes[i] = static_cast<std::uint32_t>(columns[i].size());
    end = PutPart(columns[i], end, record);
  }
  fields.changes = static_cast<std::uint32_t>(view.changes.all().size());
  end = PutPart(std::as_bytes(view.changes.all()), end, record);
  fields.bytes = static_cast<std::uint32_t>(end);
  std::fill_n(record.begin(), kRecordHeadBytes, std::byte{0});
  std::memcpy(record.data(), &fields, sizeof fields);
  fields.hash = Hash(record.subspan(kHashedFrom, end - kHashedFrom));
  std::memcpy(record.data(), &fields, sizeof fields);
  return end;
}

ReadRecord ReadRecordAt(std::span<const std::byte> rest) {
  ReadRecord read;
  RecordFields fields;
  if (rest.size() < kRecordHeadBytes) return read;
  std::memcpy(&fields, rest.data(), sizeof fields);
  std::size_t end = kRecordHeadBytes;
  for (const std::uint32_t bytes : fields.column_bytes) end += RoundUp(bytes);
  if (fields.changes > VersionChanges::kMost) return read;
  const std::size_t change_bytes = fields.changes * sizeof(VersionChange);
  end += RoundUp(change_bytes);
  if (fields.magic != RecordFields().magic || fields.bytes != end || end > rest.size()) return read;
  read.bytes = end;
  if (Hash(rest.subspan(kHashedFrom, end - kHashedFrom)) != fields.hash) return read;
  Columns columns;
  std::size_t at = kRecordHeadBytes;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    columns[i] = rest.subspan(at, fields.column_bytes[i]);
    at += RoundUp(fields.column_bytes[i]);
  }
  read.view = ViewOf(fields, columns);
  read.intact = ReadChanges(rest.subspan(at, change_bytes), &read.view.changes);
  return read;
}

}  // namespace murmurate
