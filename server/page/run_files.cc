#include "server/page/run_files.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "server/metrics/number_text.h"
#include "server/operate/checkpoint.h"
#include "server/operate/checkpoint_directory.h"
#include "shared/model/safetensors.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::size_t kMostScanned = 4096;  ///< folders of other runs that are looked at
constexpr std::size_t kMostConfigBytes = 256 << 10;

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// The newest other runs in `folder` that have a progress.csv.
std::vector<fs::path> OtherRuns(const fs::path& folder, const fs::path& own, std::size_t most) {
  std::vector<std::pair<fs::file_time_type, fs::path>> found;
  std::error_code error;
  std::size_t scanned = 0;
  for (fs::directory_iterator at(folder, error), end; !error && at != end && scanned < kMostScanned;
       at.increment(error), ++scanned) {
    std::error_code missing;
    if (at->path().filename() == own.filename()) continue;
    const auto time = fs::last_write_time(at->path() / "progress.csv", missing);
    if (!missing) found.emplace_back(time, at->path());
  }
  std::ranges::sort(found, std::greater());
  std::vector<fs::path> runs;
  for (std::size_t i = 0; i < std::min(most, found.size()); ++i) runs.push_back(found[i].second);
  return runs;
}

/// [[steps, value], ...], thinned, with the last point.
std::string PointsJson(const std::vector<CurvePoint>& points) {
  const std::size_t stride = points.size() / RunFiles::kMostPoints + 1;
  std::string text = "[";
  for (std::size_t i = (points.size() - 1) % stride; i < points.size(); i += stride)
    text += (text.size() > 1 ? ",[" : "[") + std::to_string(points[i].steps) + ',' +
            FormatNumber("%.6g", points[i].mean_return) + ']';
  return text + ']';
}

std::string CurvesJson(const std::map<std::string, Curve>& curves) {
  std::string text = "{";
  for (const auto& [column, curve] : curves)
    if (!curve.points().empty())
      text += (text.size() > 1 ? ",\"" : "\"") + column + "\":" + PointsJson(curve.points());
  return text + '}';
}

/// In seconds since 1970.
std::int64_t WrittenSeconds(const fs::path& path) {
  std::error_code error;
  const auto time = fs::last_write_time(path, error);
  if (error) return 0;
  const auto since = fs::file_time_type::clock::to_sys(time).time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(since).count();
}

std::uint64_t BytesIn(const fs::path& folder) {
  std::uint64_t bytes = 0;
  std::error_code error;
  for (const auto& file : fs::directory_iterator(folder, error)) {
    std::error_code missing;
    if (const auto size = file.file_size(missing); !missing) bytes += size;
  }
  return bytes;
}

}  // namespace

void RunFiles::Keep(const std::string& name, const std::string& path, bool own) {
  Shown& shown = runs_[name];
  shown.own = own;
  if (!shown.file) shown.file = std::make_unique<ProgressFile>(path);
  shown.file->Refresh();
}

void RunFiles::Look(std::int64_t now_ns) {
  if (now_ns - looked_ns_ < kLookNs) return;
  looked_ns_ = now_ns;
  const fs::path own(directory_);
  std::set<std::string> names;
  const auto keep = [&](const std::string& name, const fs::path& folder, bool is_own) {
    names.insert(name);
    Keep(name, (folder / "progress.csv").string(), is_own);
  };
  const std::string run = own.filename().string();
  keep(run, own, true);
  for (const fs::path& model : OtherRuns(own / "models", "", kMostModels))
    keep(run + " / " + model.filename().string(), model, true);
  for (const fs::path& other : OtherRuns(own.parent_path(), own, kMostRuns))
    keep(other.filename().string(), other, false);
  std::erase_if(runs_, [&](const auto& shown) { return !names.contains(shown.first); });
}

std::string RunFiles::Curves(Seen* seen, std::int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  Look(now_ns);
  std::string text = "[";
  for (const auto& [name, shown] : runs_) {
    std::uint64_t& revision = (*seen)[name];
    if (revision == shown.file->revision()) continue;
    revision = shown.file->revision();
    text += std::string(text.size() > 1 ? "," : "") + "{\"name\":" + Dump(name) +
            ",\"own\":" + (shown.own ? "true" : "false") +
            ",\"curves\":" + CurvesJson(shown.file->curves()) + '}';
  }
  return text + ']';
}

std::string RunFiles::Log() const {
  std::ifstream file(directory_ + "/log.txt", std::ios::binary | std::ios::ate);
  const auto size = static_cast<std::size_t>(std::max<std::streamoff>(0, file.tellg()));
  const std::size_t from = size > kMostLogBytes ? size - kMostLogBytes : 0;
  file.seekg(static_cast<std::streamoff>(from));
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(std::move(line));
  if (from > 0 && !lines.empty()) lines.erase(lines.begin());  // its beginning is cut off
  if (lines.size() > kMostLines)
    lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(kMostLines));
  return Dump({{"lines", lines}});
}

std::string RunFiles::Checkpoints() const {
  const fs::path folder = fs::path(directory_) / "checkpoints";
  std::error_code error;
  const std::string latest = fs::read_symlink(folder / "latest", error).filename().string();
  const std::string best = fs::read_symlink(folder / "best", error).filename().string();
  std::vector<std::pair<std::uint64_t, std::string>> names;
  for (const std::uint64_t step : CheckpointSteps(directory_))
    names.emplace_back(step, StepName(step));
  for (const std::uint64_t step : BestSteps(folder.string()))
    names.emplace_back(step, BestName(step));
  std::ranges::sort(names, std::greater());
  Json list = Json::array();
  for (const auto& [step, name] : names) {
    if (list.size() >= kMostCheckpoints) break;
    list.push_back({{"step", step},
                    {"name", name},
                    {"best", name == best},
                    {"latest", name == latest},
                    {"written_s", WrittenSeconds(folder / name)},
                    {"bytes", BytesIn(folder / name)}});
  }
  return Dump(list);
}

std::string RunFiles::Config() const {
  auto text = ReadFile(directory_ + "/config.toml", kMostConfigBytes);
  return text.ok() ? *text : "";
}

}  // namespace murmurate
