#include "server/replay/sampler.h"

#include <algorithm>
#include <cmath>

#include "shared/core/check.h"

namespace murmurate {
namespace {

/// Draws of a row that is closed before the next one after the last draw is taken. Few rows are
/// open, so that more than three draws are rare.
constexpr int kDraws = 100;

}  // namespace

Sampler::Sampler(const ReplaySettings& settings, std::uint64_t seed, const ReplayRows* rows,
                 const ClosedWindows* windows, BlockCursor& block)
    : sequences_(settings.sequence > 0),
      importance_(settings.importance_exponent),
      random_(seed),
      rows_(rows),
      windows_(windows) {
  if (!settings.prioritized()) return;
  priorities_.emplace(settings, block);
  places_.resize(static_cast<std::size_t>(settings.minibatch));
}

void Sampler::Inserted(std::uint64_t first_row, std::uint64_t count) {
  if (!priorities_) return;
  for (std::uint64_t row = first_row; row < first_row + count; ++row)
    priorities_->Begin(rows_->ring().Place(row));
}

void Sampler::Closed(std::uint64_t row) {
  if (priorities_) priorities_->Open(rows_->ring().Place(row));
}

void Sampler::Evicted(std::uint64_t first_row, std::uint64_t count) {
  if (!priorities_) return;
  const std::size_t place = rows_->ring().Place(first_row);
  const std::size_t before = std::min<std::size_t>(count, rows_->ring().capacity() - place);
  priorities_->Evict(place, before);
  priorities_->Evict(0, count - before);
}

void Sampler::SetError(std::uint64_t row, float error) {
  if (priorities_ && rows_->Keeps(row)) priorities_->Set(rows_->ring().Place(row), error);
}

double Sampler::Draw(std::span<std::uint64_t> rows, std::span<float> weights) {
  MURMURATE_CHECK(windows_->closed() > 0, "a row can be sampled");
  if (!priorities_) {
    std::ranges::generate(rows, [this] { return DrawEven(); });
    std::ranges::fill(weights, 1.0f);
    return 1.0;
  }
  const std::span places = std::span(places_).first(rows.size());
  const double least = priorities_->Draw(&random_, places, weights);
  std::ranges::transform(places, rows.begin(),
                         [this](std::size_t place) { return rows_->RowAt(place); });
  return std::pow(static_cast<double>(windows_->closed()) * least, -importance_);
}

/// A row; of sequences, the first of a chunk.
std::uint64_t Sampler::DrawAny() {
  const auto below = [this](std::uint64_t count) {
    return std::uint64_t{random_.UniformInt(static_cast<std::uint32_t>(count))};
  };
  if (!sequences_) return rows_->first_row() + below(rows_->size());
  return rows_->At(rows_->chunks().first() + below(rows_->chunks().size())).first_row;
}

std::uint64_t Sampler::DrawEven() {
  std::uint64_t row = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    row = DrawAny();
    if (windows_->IsClosed(row)) return row;
  }
  while (!windows_->IsClosed(row)) row = row + 1 < rows_->end_row() ? row + 1 : rows_->first_row();
  return row;
}

void Sampler::Save(const StateWriter& writer) const {
  writer.Words("random", random_.Saved());
  if (priorities_) priorities_->Save(writer);
}

Status Sampler::Load(const StateReader& reader) {
  Random::Words saved;
  MURMURATE_RETURN_IF_ERROR(reader.Words("random", saved));
  if (priorities_) MURMURATE_RETURN_IF_ERROR(priorities_->Load(reader));
  random_.GoOnFrom(saved);
  return {};
}

/// Of all places, kept or not, as one copy of memory that always has the same size: learning waits
/// for it, and new memory takes longer.
void Sampler::SavePriorities(const StateWriter& writer) const {
  if (priorities_) writer.Floats("priorities", priorities_->own());
}

Status Sampler::LoadPriorities(const StateReader& reader) {
  if (!priorities_) return {};
  std::vector<float> all(priorities_->own().size());
  MURMURATE_RETURN_IF_ERROR(reader.Floats("priorities", all));
  for (std::size_t place = 0; place < all.size(); ++place) priorities_->Restore(place, all[place]);
  return {};
}

}  // namespace murmurate
