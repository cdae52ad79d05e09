// What a run's progress saves, and how its file goes on.
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "server/operate/progress.h"
#include "shared/core/check.h"
#include "shared/model/safetensors.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kMaxFileBytes = std::size_t{1} << 30;

/// The rows that count: whole, and of no more steps than there are.
std::string RowsUpTo(std::uint64_t steps, const std::string& text, std::size_t* cut) {
  std::string kept = ProgressFile::Header();
  for (std::size_t at = kept.size(); at < text.size();) {
    const std::size_t end = text.find('\n', at);
    const bool whole = end != std::string::npos;
    if (whole && std::strtoull(text.c_str() + at, nullptr, 10) <= steps) {
      kept.append(text, at, end + 1 - at);
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

}  // namespace

void Progress::Save(std::int64_t now_ns, const StateWriter& writer) const {
  writer.Words("counters", {{last_.environment_steps, last_.dropped_steps, last_.trained_steps,
                             last_.updates, last_.version, episodes_}});
  writer.Doubles("elapsed", {{elapsed_s(now_ns)}});
  std::vector<double> returns;
  std::vector<std::uint64_t> lengths;
  for (const EpisodeRecord& episode : window_) {
    returns.push_back(episode.raw_return);
    lengths.push_back(episode.length);
  }
  writer.Doubles("window_returns", returns);
  writer.Words("window_lengths", lengths);
  std::vector<double> means;
  std::vector<std::uint64_t> steps;
  for (const CurvePoint& point : curve_) {
    means.push_back(point.mean_return);
    steps.push_back(point.steps);
  }
  writer.Doubles("curve_returns", means);
  writer.Words("curve_steps", steps);
}

Status Progress::Load(const StateReader& reader) {
  std::array<std::uint64_t, 6> counters{};
  MURMURATE_RETURN_IF_ERROR(reader.Words("counters", counters));
  MURMURATE_RETURN_IF_ERROR(reader.Doubles("elapsed", std::span(&earlier_s_, 1)));
  const auto lengths = reader.AllWords("window_lengths");
  if (!lengths.ok()) return lengths.status();
  std::vector<double> returns(lengths->size());
  MURMURATE_RETURN_IF_ERROR(reader.Doubles("window_returns", returns));
  const auto steps = reader.AllWords("curve_steps");
  if (!steps.ok()) return steps.status();
  std::vector<double> means(steps->size());
  MURMURATE_RETURN_IF_ERROR(reader.Doubles("curve_returns", means));
  last_.environment_steps = rate_steps_ = counters[0];
  last_.dropped_steps = counters[1];
  last_.trained_steps = counters[2];
  last_.updates = counters[3];
  last_.version = counters[4];
  episodes_ = counters[5];
  for (std::size_t i = 0; i < returns.size() && i < kWindow; ++i)
    window_.push_back({returns[i], static_cast<std::uint32_t>((*lengths)[i]), 0});
  for (std::size_t i = 0; i < means.size(); ++i) curve_.push_back({(*steps)[i], means[i]});
  return {};
}

Result<ProgressFile> ProgressFile::GoOn(const std::string& path, std::uint64_t steps,
                                        const LogCallback& log) {
  const auto text = ReadFile(path, kMaxFileBytes);
  if (!text.ok() || !text->starts_with(Header())) {
    if (text.ok()) KeepAside(path);
    return Create(path);
  }
  std::size_t cut = 0;
  const std::string kept = RowsUpTo(steps, *text, &cut);
  if (cut > 0) {
    MURMURATE_RETURN_IF_ERROR(
        WriteFileAtomically(path, std::as_bytes(std::span(kept.data(), kept.size()))));
    if (log)
      log(LogLevel::kWarning, path + ": cut off " + std::to_string(cut) + " rows after step " +
                                  std::to_string(steps) +
                                  ": the learner that wrote them died before its next checkpoint");
  }
  std::FILE* file = std::fopen(path.c_str(), "ae");
  if (file == nullptr)
    return ResourceError(path + ": cannot be written (" + std::strerror(errno) +
                         "); check the folder's permissions");
  return ProgressFile(path, file);
}

}  // namespace murmurate
