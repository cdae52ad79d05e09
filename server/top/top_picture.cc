#include "server/top/top_picture.h"

#include <algorithm>
#include <array>

#include "server/top/text_columns.h"
#include "server/top/top_sections.h"

namespace murmurate {
namespace {

constexpr int kLeastCurve = 4, kGoodCurve = 9;
constexpr int kRowsForKeys = 10;

/// A part of the picture and how many rows it gets.
struct Part {
  std::vector<TopLine> lines;
  int least = 0;       ///< with fewer it says nothing
  bool table = false;  ///< its last line says how many rows are missing
  int rows = 0;

  int all() const { return static_cast<int>(lines.size()); }
};

/// In the order of the picture; the curve stands behind the summary.
enum Place { kSummary, kCurve, kModels, kShards, kStreams, kActors, kWaits, kPlaces };

/// Gives up to `rows` in all, if what there is is enough for `least`.
void Give(int least, int rows, Part* part, int* left) {
  const int more = std::min(std::max(0, rows - part->rows), *left);
  if (part->rows + more < least) return;
  part->rows += more;
  *left -= more;
}

/// What matters most gets its least first, then all it has; the curve what is left, but a good part
/// before long tables.
void Divide(int left, bool curve, std::array<Part, kPlaces>* parts) {
  auto& all = *parts;
  for (const Place place : {kSummary, kWaits, kActors, kStreams, kShards, kModels})
    Give(std::min(all[place].least, all[place].all()), std::min(all[place].least, all[place].all()),
         &all[place], &left);
  if (curve) Give(kLeastCurve, kLeastCurve, &all[kCurve], &left);
  for (const Place place : {kSummary, kWaits})
    Give(0, std::min(all[place].all(), 6), &all[place], &left);
  if (curve && all[kCurve].rows > 0) Give(0, kGoodCurve, &all[kCurve], &left);
  for (const Place place : {kStreams, kShards, kModels, kActors, kWaits})
    if (all[place].rows > 0) Give(0, all[place].all(), &all[place], &left);
  if (curve && all[kCurve].rows > 0) Give(0, all[kCurve].rows + left, &all[kCurve], &left);
}

/// As many lines of a part as it has rows; of a table, how many rows are missing.
void Append(const Part& part, int width, std::vector<TopLine>* picture) {
  const int shown = std::min(part.rows, part.all());
  const bool cut = part.table && shown < part.all() && shown > 2;
  picture->insert(picture->end(), part.lines.begin(), part.lines.begin() + shown - (cut ? 1 : 0));
  if (cut)
    picture->push_back({{CutTo("and " + std::to_string(part.all() - shown + 1) + " more", width),
                         TopStyle::kFaint}});
}

std::array<Part, kPlaces> PartsOf(const TopSnapshot& snapshot, int width) {
  std::array<Part, kPlaces> parts;
  parts[kSummary] = {SummaryLines(snapshot, width), 2};
  parts[kModels] = {ModelLines(snapshot, width), 2, true};
  parts[kShards] = {ShardLines(snapshot, width), 2, true};
  parts[kStreams] = {StreamLines(snapshot, width), 2, true};
  parts[kActors] = {ActorLines(snapshot, width), 2, true};
  parts[kWaits] = {WaitLines(snapshot, width), 1};
  return parts;
}

}  // namespace

std::vector<TopLine> TopPicture(const TopSnapshot& snapshot, TopSize size, Glyphs glyphs,
                                const char* keys) {
  const std::string last = snapshot.note.empty() ? keys : snapshot.note;
  const bool footed = !last.empty() && (size.rows >= kRowsForKeys || !snapshot.note.empty());
  const int width = std::max(1, size.columns);
  std::array<Part, kPlaces> parts = PartsOf(snapshot, width);
  const bool curve = !PlotLines(snapshot.curves, {width, kLeastCurve}, glyphs).empty();
  Divide(std::max(0, size.rows - 1 - (footed ? 1 : 0)), curve, &parts);
  if (curve) parts[kCurve].lines = PlotLines(snapshot.curves, {width, parts[kCurve].rows}, glyphs);
  std::vector<TopLine> picture{HeadLine(snapshot, width)};
  for (const Part& part : parts) Append(part, width, &picture);
  if (footed)
    picture.push_back({{CutTo(Printable(last), width),
                        snapshot.note.empty() ? TopStyle::kFaint : TopStyle::kWarning}});
  picture.resize(std::min(picture.size(), static_cast<std::size_t>(std::max(0, size.rows))));
  return picture;
}

}  // namespace murmurate
