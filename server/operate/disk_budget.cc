#include "server/operate/disk_budget.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <utility>
#include <vector>

#include "server/metrics/number_text.h"
#include "server/operate/checkpoint.h"
#include "server/operate/checkpoint_directory.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;

struct OldFile {
  fs::file_time_type written;
  std::string path;
  std::uint64_t bytes = 0;
};

/// Calls `visit` for each regular file below `folder`; links are not followed, and what vanishes
/// meanwhile is passed over.
template <typename Visit>
void VisitFiles(const std::string& folder, const Visit& visit) {
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code gone;
    const bool file = entry->symlink_status(gone).type() == fs::file_type::regular;
    const std::uint64_t bytes = file && !gone ? entry->file_size(gone) : 0;
    if (file && !gone) visit(*entry, bytes);
  }
}

std::uint64_t BytesBelow(const std::string& folder) {
  std::uint64_t sum = 0;
  VisitFiles(folder, [&](const fs::directory_entry&, std::uint64_t bytes) { sum += bytes; });
  return sum;
}

/// The folder of the run and those of its further models.
std::vector<std::string> ModelFolders(const std::string& directory) {
  std::vector<std::string> folders{directory};
  std::error_code error;
  for (fs::directory_iterator entry(directory + "/models", error), end; !error && entry != end;
       entry.increment(error))
    folders.push_back(entry->path().string());
  return folders;
}

bool Verifies(const std::string& folder) {
  const auto verdicts = VerifyFiles(folder);
  return std::ranges::all_of(verdicts, [](const FileVerdict& v) { return v.status.ok(); });
}

/// The checkpoints of one model that may go, oldest first.
std::vector<std::string> OldCheckpoints(const std::string& folder) {
  const std::vector<std::uint64_t> steps = CheckpointSteps(folder);
  std::size_t stays = steps.size();
  while (stays > 0 && !Verifies(CheckpointFolder(folder, steps[stays - 1]))) --stays;
  std::vector<std::string> names;
  for (std::size_t i = 0; i + 1 < stays; ++i) names.push_back(StepName(steps[i]));
  return names;
}

/// "MODEL" of MODEL-000001.traj; "": that is no segment of a recording.
std::string RecordingOf(const fs::path& path) {
  const std::string stem = path.stem().string();
  const std::size_t dash = stem.rfind('-');
  const bool numbered = dash != stem.npos && dash + 1 < stem.size() &&
                        std::all_of(stem.begin() + static_cast<std::ptrdiff_t>(dash) + 1,
                                    stem.end(), [](unsigned char c) { return std::isdigit(c); });
  return path.extension() == ".traj" && numbered ? stem.substr(0, dash) : "";
}

/// log.1.txt, log.2.txt, ...
bool IsRotatedLog(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.starts_with("log.") && name.ends_with(".txt") && name.size() > 8 &&
         std::all_of(name.begin() + 4, name.end() - 4,
                     [](unsigned char c) { return std::isdigit(c); });
}

/// The segments but for the newest of each recording, and the rotated logs; oldest first.
std::vector<OldFile> OldFiles(const std::string& directory) {
  std::map<std::string, std::vector<OldFile>> recordings;
  std::vector<OldFile> old;
  VisitFiles(directory, [&](const fs::directory_entry& entry, std::uint64_t bytes) {
    std::error_code gone;
    const OldFile file{entry.last_write_time(gone), entry.path().string(), bytes};
    if (gone) return;
    if (const std::string recording = RecordingOf(entry.path()); !recording.empty())
      recordings[(entry.path().parent_path() / recording).string()].push_back(file);
    else if (IsRotatedLog(entry.path()))
      old.push_back(file);
  });
  for (auto& [name, segments] : recordings) {
    std::ranges::sort(segments, {}, &OldFile::path);  // their numbers have leading zeros
    old.insert(old.end(), segments.begin(), segments.end() - 1);
  }
  std::ranges::sort(old, {}, &OldFile::written);
  return old;
}

/// Deletes the oldest checkpoints of one model until `held` is at most `most`; how many went.
int DeleteCheckpoints(const std::string& folder, std::uint64_t most, std::uint64_t* held) {
  const std::string checkpoints = folder + "/checkpoints";
  if (CheckpointSteps(folder).size() < 2) return 0;
  const auto lock = CheckpointLock::Acquire(checkpoints);
  if (!lock.ok()) return 0;
  int deleted = 0;
  for (const std::string& name : OldCheckpoints(folder)) {
    if (*held <= most) break;
    const std::uint64_t bytes = BytesBelow(checkpoints + '/' + name);
    if (!DeleteCheckpoint(checkpoints, name).ok()) break;
    *held -= std::min(*held, bytes);
    ++deleted;
  }
  return deleted;
}

int DeleteFiles(const std::string& directory, std::uint64_t most, std::uint64_t* held) {
  int deleted = 0;
  for (const OldFile& file : OldFiles(directory)) {
    if (*held <= most) break;
    std::error_code error;
    if (!fs::remove(file.path, error) || error) continue;
    *held -= std::min(*held, file.bytes);
    ++deleted;
  }
  return deleted;
}

std::string SizeText(std::uint64_t bytes) {
  const auto size = static_cast<double>(bytes);
  if (size >= 1e9) return FormatNumber("%.3g GB", size * 1e-9);
  return size >= 1e6 ? FormatNumber("%.3g MB", size * 1e-6) : FormatNumber("%.3g kB", size * 1e-3);
}

std::string CountOf(int count, const char* what) {
  return std::to_string(count) + ' ' + what + (count == 1 ? "" : "s");
}

}  // namespace

DiskBudget::DiskBudget(std::string directory, std::uint64_t max_bytes, LogCallback log)
    : directory_(std::move(directory)), max_bytes_(max_bytes), log_(std::move(log)) {}

void DiskBudget::Keep() {
  const std::uint64_t most = max_bytes_;
  if (most == kUnbounded) return;
  const std::uint64_t held = BytesBelow(directory_);
  std::uint64_t left = held;
  int checkpoints = 0;
  if (left > most)
    for (const std::string& folder : ModelFolders(directory_))
      checkpoints += DeleteCheckpoints(folder, most, &left);
  const int files = left > most ? DeleteFiles(directory_, most, &left) : 0;
  Report(held, left, checkpoints, files);
}

void DiskBudget::Report(std::uint64_t held, std::uint64_t left, int checkpoints, int files) {
  const std::uint64_t most = max_bytes_;
  const bool above = left > most, said = std::exchange(complained_, above);
  if (checkpoints + files == 0 && (!above || said)) return;
  std::string sentence =
      "run.max_disk is " + SizeText(most) + ", and the run's folder has " + SizeText(held);
  if (checkpoints + files > 0)
    sentence += ": deleted " + CountOf(checkpoints, "old checkpoint") + " and " +
                CountOf(files, "old recording or log file") + ", " + SizeText(left) + " are left";
  if (above)
    sentence +=
        "; nothing else may go: the newest and the best checkpoint, the newest segments, log.txt "
        "and all other files stay; raise run.max_disk";
  log_(above ? LogLevel::kWarning : LogLevel::kInfo, sentence);
}

}  // namespace murmurate
