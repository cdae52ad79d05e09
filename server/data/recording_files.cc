#include "server/data/recording_files.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <tuple>

namespace murmurate {
namespace {

namespace fs = std::filesystem;
constexpr char kEnding[] = ".traj";

}  // namespace

std::vector<SegmentFile> ListSegments(const std::string& folder) {
  std::vector<SegmentFile> segments;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string stem = entry->path().stem().string();
    const std::size_t dash = stem.rfind('-');
    if (entry->path().extension() != kEnding || dash == std::string::npos) continue;
    SegmentFile segment{entry->path().string(), stem.substr(0, dash)};
    const char* const last = stem.data() + stem.size();
    const auto [rest, bad] = std::from_chars(stem.data() + dash + 1, last, segment.number);
    std::error_code unknown;
    segment.bytes = entry->file_size(unknown);
    if (bad != std::errc() || rest != last || unknown) continue;
    segments.push_back(std::move(segment));
  }
  std::sort(segments.begin(), segments.end(), [](const SegmentFile& a, const SegmentFile& b) {
    return std::tie(a.model, a.number) < std::tie(b.model, b.number);
  });
  return segments;
}

std::string SegmentPath(const std::string& folder, const std::string& model, std::uint64_t number) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "-%06llu", static_cast<unsigned long long>(number));
  return folder + '/' + model + digits + kEnding;
}

}  // namespace murmurate
