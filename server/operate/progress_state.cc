// What a run's progress saves, and how its file goes on.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>

#include "server/operate/progress.h"
#include "shared/core/check.h"
#include "shared/model/safetensors.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kMaxFileBytes = std::size_t{1} << 30;

constexpr std::size_t kTrainedSteps = 3;  ///< the place of that column

/// The number in the column at `place` of a row.
std::uint64_t NumberIn(const std::string& row, std::size_t place) {
  std::size_t at = 0;
  for (; place > 0 && at < row.size(); --place)
    at = std::min(row.find(',', at), row.size() - 1) + 1;
  return std::strtoull(row.c_str() + at, nullptr, 10);
}

/// As many columns as a file with this header lacks of the present ones, at their end; empty: they
/// are others.
std::optional<std::size_t> MissingColumns(const std::string& header) {
  const std::string present = ProgressFile::Header();
  if (header == present) return 0;
  const std::string begin = header.substr(0, header.size() - 1) + ',';
  if (header.size() < 2 || !present.starts_with(begin)) return std::nullopt;
  return std::ranges::count(present, ',') - std::ranges::count(header, ',');
}

/// The rows that count: whole, and of no more steps than there are; each with `missing` fields
/// more.
std::string RowsUpTo(const Progress& loaded, const std::string& text, std::size_t missing,
                     std::size_t* cut) {
  std::string kept = ProgressFile::Header();
  for (std::size_t at = text.find('\n') + 1; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    const bool whole = end != std::string::npos;
    const std::string row = text.substr(at, whole ? end - at : std::string::npos);
    if (whole && NumberIn(row, 0) <= loaded.steps() &&
        NumberIn(row, kTrainedSteps) <= loaded.last().trained_steps) {
      kept += row + std::string(missing, ',') + '\n';
    } else {
      ++*cut;
    }
    at = whole ? end + 1 : text.size();
  }
  return kept;
}

void KeepAside(const std::string& path) {
  std::error_code error;
  for (int i = 1;; ++i) {
    const std::string aside = path + '.' + std::to_string(i);
    if (fs::exists(aside, error)) continue;
    fs::rename(path, aside, error);
    return;
  }
}

void SaveEpisodes(const EpisodeList& episodes, const std::string& name, const StateWriter& writer) {
  std::vector<double> returns;
  std::vector<std::uint64_t> lengths, success;
  for (const EpisodeRecord& episode : episodes) {
    returns.push_back(episode.raw_return);
    lengths.push_back(episode.length);
    success.push_back(episode.success);
  }
  writer.Doubles(name + "_returns", returns);
  writer.Words(name + "_lengths", lengths);
  writer.Words(name + "_success", success);
}

Status LoadEpisodes(const StateReader& reader, const std::string& name, EpisodeList* episodes) {
  const auto lengths = reader.AllWords(name + "_lengths");
  if (!lengths.ok()) return lengths.status();
  std::vector<double> returns(lengths->size());
  std::vector<std::uint64_t> success(lengths->size());
  MURMURATE_RETURN_IF_ERROR(reader.Doubles(name + "_returns", returns));
  MURMURATE_RETURN_IF_ERROR(reader.Words(name + "_success", success));
  for (std::size_t i = 0; i < returns.size() && i < Progress::kWindow; ++i)
    episodes->push_back({returns[i], static_cast<std::uint32_t>((*lengths)[i]), 0,
                         static_cast<std::uint8_t>(success[i])});
  return {};
}

void SaveCurve(const Curve& curve, const std::string& name, const StateWriter& writer) {
  std::vector<double> means;
  std::vector<std::uint64_t> steps;
  for (const CurvePoint& point : curve.points()) {
    means.push_back(point.mean_return);
    steps.push_back(point.steps);
  }
  writer.Doubles(name + "_returns", means);
  writer.Words(name + "_steps", steps);
}

Status LoadCurve(const StateReader& reader, const std::string& name, Curve* curve) {
  const auto steps = reader.AllWords(name + "_steps");
  if (!steps.ok()) return steps.status();
  std::vector<double> means(steps->size());
  MURMURATE_RETURN_IF_ERROR(reader.Doubles(name + "_returns", means));
  for (std::size_t i = 0; i < means.size(); ++i) curve->Add({(*steps)[i], means[i]});
  return {};
}

}  // namespace

void Progress::Save(std::int64_t now_ns, const StateWriter& writer) const {
  writer.Words("counters", {{last_.environment_steps, last_.dropped_steps, last_.trained_steps,
                             last_.updates, last_.version, episodes_}});
  writer.Words("late_steps", {{last_.late_steps}});
  writer.Doubles("elapsed", {{elapsed_s(now_ns)}});
  SaveEpisodes(window_, "window", writer);
  SaveEpisodes(said_, "said", writer);
  SaveCurve(curve_, "curve", writer);
  SaveCurve(evaluation_curve_, "evaluations", writer);
  if (!evaluation_) return;
  writer.Words("evaluation_of",
               {{evaluation_->steps, evaluation_->version, evaluation_->episodes}});
  writer.Words("evaluation_learned", {{evaluation_->learned_steps}});
  writer.Doubles("evaluation",
                 {{evaluation_->mean_return, evaluation_->deviation, evaluation_->mean_length,
                   evaluation_->success_rate.value_or(std::nan(""))}});
}

Status Progress::Load(const StateReader& reader, std::uint64_t number) {
  std::array<std::uint64_t, 6> counters{};
  MURMURATE_RETURN_IF_ERROR(reader.Words("counters", counters));
  MURMURATE_RETURN_IF_ERROR(reader.Doubles("elapsed", std::span(&earlier_s_, 1)));
  MURMURATE_RETURN_IF_ERROR(LoadEpisodes(reader, "window", &window_));
  MURMURATE_RETURN_IF_ERROR(LoadEpisodes(reader, "said", &said_));
  MURMURATE_RETURN_IF_ERROR(LoadCurve(reader, "curve", &curve_));
  MURMURATE_RETURN_IF_ERROR(LoadCurve(reader, "evaluations", &evaluation_curve_));
  last_.environment_steps = counters[0];
  last_.learned_steps = number;
  taken_rate_.BeginAt(counters[0]);
  learned_rate_.BeginAt(number);
  last_.dropped_steps = counters[1];
  last_.trained_steps = counters[2];
  last_.updates = counters[3];
  last_.version = counters[4];
  episodes_ = counters[5];
  if (!reader.Words("late_steps", std::span(&last_.late_steps, 1)).ok())
    last_.late_steps = 0;  // a checkpoint of a version that did not count them
  std::array<std::uint64_t, 3> of{};
  std::array<double, 4> scores{};
  if (!reader.Words("evaluation_of", of).ok()) return {};  // there was none yet
  MURMURATE_RETURN_IF_ERROR(reader.Doubles("evaluation", scores));
  evaluation_ = Evaluation{of[0], of[1], of[2], scores[0], scores[1], scores[2]};
  if (!reader.Words("evaluation_learned", std::span(&evaluation_->learned_steps, 1)).ok())
    evaluation_->learned_steps = of[0];  // of an earlier version, whose numbers were these
  if (!std::isnan(scores[3])) evaluation_->success_rate = scores[3];
  return {};
}

Result<ProgressFile> ProgressFile::GoOn(const std::string& path, const Progress& loaded,
                                        const LogCallback& log) {
  const auto text = ReadFile(path, kMaxFileBytes);
  const auto missing =
      text.ok() ? MissingColumns(text->substr(0, text->find('\n') + 1)) : std::nullopt;
  if (!missing) {
    if (text.ok()) KeepAside(path);
    return Create(path);
  }
  std::size_t cut = 0;
  const std::string kept = RowsUpTo(loaded, *text, *missing, &cut);
  if (cut > 0 || *missing > 0) {
    MURMURATE_RETURN_IF_ERROR(
        WriteFileAtomically(path, std::as_bytes(std::span(kept.data(), kept.size()))));
    if (log && cut > 0)
      log(LogLevel::kWarning, path + ": cut off " + std::to_string(cut) + " rows after step " +
                                  std::to_string(loaded.steps()) +
                                  ": the learner that wrote them died before its next checkpoint");
  }
  std::FILE* file = std::fopen(path.c_str(), "ae");
  if (file == nullptr)
    return ResourceError(path + ": cannot be written (" + std::strerror(errno) +
                         "); check the folder's permissions");
  return ProgressFile(path, file);
}

}  // namespace murmurate
