// Reading: everything is verified before anything is used, and nothing outside the folder is read.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <sstream>

#include "server/operate/checkpoint.h"
#include "server/operate/checkpoint_directory.h"
#include "server/operate/checkpoint_files.h"
#include "shared/core/check.h"
#include "shared/model/files.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kMaxNamed = 8;

Status Named(const std::string& path, const Status& status) {
  return status.ok() ? status : InvalidData(path + ' ' + status.message());
}

class OpenFolder {
 public:
  explicit OpenFolder(const std::string& path)
      : path_(path), folder_(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {}

  Status Check() const {
    if (folder_.get() >= 0) return {};
    return InvalidData(FileSentence("open the checkpoint", path_, errno));
  }
  /// Reads a file of at most `max_bytes`; a link, a pipe and a folder are no files.
  Result<std::string> Read(const std::string& name, std::uint64_t max_bytes) const {
    return ReadFileAt(folder_.get(), name, path_ + '/' + name, max_bytes);
  }

 private:
  const std::string path_;
  const Descriptor folder_;
};

Status CheckNoOthers(const std::string& folder, const Manifest& manifest) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name != kManifestName && !manifest.files.contains(name))
      return InvalidData(folder + '/' + name +
                         ": is not in the checkpoint's MANIFEST.json; move it away");
  }
  return {};
}

Result<Manifest> ReadManifest(const OpenFolder& open, const std::string& folder) {
  auto text = open.Read(kManifestName, kMaxManifestBytes);
  if (!text.ok()) return text.status();
  auto manifest = ParseManifest(*text);
  if (!manifest.ok()) return Named(folder + '/' + kManifestName, manifest.status());
  MURMURATE_RETURN_IF_ERROR(CheckNoOthers(folder, *manifest));
  return manifest;
}

Result<std::string> ReadSealed(const OpenFolder& open, const std::string& folder,
                               const std::string& name, const FileSeal& seal) {
  auto bytes = open.Read(name, seal.size);
  if (!bytes.ok()) return bytes.status();
  const std::string path = folder + '/' + name;
  if (bytes->size() != seal.size)
    return InvalidData(path + " has " + std::to_string(bytes->size()) + " bytes where " +
                       std::to_string(seal.size) + " were written: it is cut off");
  // guard: DamagedCheckpoint.IsFoundByEverySingleBit: the sum of each file is compared
  if (ToHex(Sha256(*bytes)) != seal.sha256)
    return InvalidData(path + " does not have the sum that MANIFEST.json names: it is damaged");
  return bytes;
}

Status ParseMatchingWeights(const Manifest& manifest, std::string_view bytes,
                            Checkpoint* checkpoint) {
  auto weights = ParseWeightsFile(std::as_bytes(std::span(bytes.data(), bytes.size())));
  if (!weights.ok()) return InvalidData("cannot be used: " + weights.status().message());
  if (ToHex(weights->spec_hash) != manifest.spec || weights->steps != manifest.step)
    return InvalidData("is of another checkpoint than its MANIFEST.json");
  checkpoint->weights = std::move(*weights);
  return {};
}

Status ParseMatchingState(std::string_view text, Checkpoint* checkpoint) {
  const std::uint64_t steps = checkpoint->weights.steps, version = checkpoint->weights.version;
  MURMURATE_RETURN_IF_ERROR(ParseState(text, checkpoint));
  if (checkpoint->weights.steps == steps && checkpoint->weights.version == version) return {};
  return InvalidData("is of another checkpoint than its weights");
}

Status ParsePart(const Manifest& manifest, const std::string& name, std::string_view bytes,
                 Checkpoint* checkpoint) {
  if (name == kWeightsName) return ParseMatchingWeights(manifest, bytes, checkpoint);
  if (name == kStateName) return ParseMatchingState(bytes, checkpoint);
  return ParseOptimizer(bytes, &checkpoint->state);
}

std::string Joined(const std::vector<std::string>& wrong) {
  std::string text;
  for (std::size_t i = 0; i < std::min(wrong.size(), kMaxNamed); ++i)
    text += (i > 0 ? "; " : "") + wrong[i];
  if (wrong.size() > kMaxNamed)
    text += "; and " + std::to_string(wrong.size() - kMaxNamed) + " more";
  return text;
}

Status NothingIn(const std::string& directory, const std::vector<std::string>& wrong) {
  if (wrong.empty())
    return InvalidData(directory +
                       "/checkpoints: there is no checkpoint; a run writes one every "
                       "checkpoint.every_s and when it stops: let it go on, or name another run");
  return InvalidData(directory + "/checkpoints: none can be used: " + Joined(wrong) +
                     "; name another run");
}

/// "" when there is none: the first line of the one's text that is not in the other's.
std::string DifferenceOf(const ModelSpec& saved, const ModelSpec& wanted) {
  std::istringstream ours(saved.ToText()), theirs(wanted.ToText());
  std::string our, their;
  while (true) {
    const bool more = static_cast<bool>(std::getline(ours, our));
    const bool wants_more = static_cast<bool>(std::getline(theirs, their));
    if (!more && !wants_more) return "";
    if (more && wants_more && our == their) continue;
    return "it has " + (more ? '"' + our + '"' : "nothing more") + " where " +
           (wants_more ? '"' + their + '"' : "nothing more") + " was expected";
  }
}

/// Reads as ReadCheckpoint does, by a checkpoint's own name: no link, and of the step it says.
Result<Checkpoint> ReadStep(const std::string& folder, std::uint64_t step) {
  std::error_code error;
  if (fs::is_symlink(fs::symlink_status(folder, error)))
    return InvalidData(folder + ": is a link where a folder was expected");
  auto checkpoint = ReadCheckpoint(folder);
  if (checkpoint.ok() && checkpoint->weights.steps != step)
    return InvalidData(folder + ": holds step " + std::to_string(checkpoint->weights.steps) +
                       ": it was renamed");
  return checkpoint;
}

}  // namespace

Result<Checkpoint> ReadCheckpoint(const std::string& folder) {
  const OpenFolder open(folder);
  MURMURATE_RETURN_IF_ERROR(open.Check());
  const auto manifest = ReadManifest(open, folder);
  if (!manifest.ok()) return manifest.status();
  Checkpoint checkpoint;
  for (const char* name : {kWeightsName, kOptimizerName, kStateName}) {
    auto bytes = ReadSealed(open, folder, name, manifest->files.at(name));
    if (!bytes.ok()) return bytes.status();
    MURMURATE_RETURN_IF_ERROR(
        Named(folder + '/' + name, ParsePart(*manifest, name, *bytes, &checkpoint)));
  }
  return checkpoint;
}

std::vector<FileVerdict> VerifyFiles(const std::string& folder) {
  const OpenFolder open(folder);
  if (Status status = open.Check(); !status.ok()) return {{kManifestName, 0, status}};
  const auto manifest = ReadManifest(open, folder);
  std::vector<FileVerdict> verdicts{{kManifestName, 0, manifest.status()}};
  if (!manifest.ok()) return verdicts;
  verdicts[0].size = FormatManifest(*manifest).size();
  for (const auto& [name, seal] : manifest->files)
    verdicts.push_back({name, seal.size, ReadSealed(open, folder, name, seal).status()});
  return verdicts;
}

Result<FoundCheckpoint> ReadNewestCheckpoint(const std::string& directory, const LogCallback& log) {
  std::vector<std::string> wrong;
  std::vector<std::uint64_t> steps = CheckpointSteps(directory);
  const std::uint64_t newest = steps.empty() ? 0 : steps.back();
  std::reverse(steps.begin(), steps.end());
  for (const std::uint64_t step : steps) {
    const std::string folder = CheckpointFolder(directory, step);
    auto checkpoint = ReadStep(folder, step);
    if (checkpoint.ok()) {
      if (log && !wrong.empty())
        log(LogLevel::kWarning, "falling back to the checkpoint of step " + std::to_string(step));
      return FoundCheckpoint{std::move(*checkpoint), folder};
    }
    wrong.push_back(checkpoint.status().message());
    if (log) log(LogLevel::kWarning, "checkpoint skipped: " + wrong.back());
  }
  // Its run goes on and has put newer ones in the place of those we saw.
  const std::vector<std::uint64_t> now = CheckpointSteps(directory);
  if (!now.empty() && now.back() > newest) return ReadNewestCheckpoint(directory, log);
  return NothingIn(directory, wrong);
}

Result<FoundCheckpoint> ReadBestCheckpoint(const std::string& directory, const LogCallback& log) {
  const std::string checkpoints = directory + "/checkpoints";
  std::optional<FoundCheckpoint> best;
  std::vector<std::string> wrong;
  const std::vector<std::uint64_t> steps = BestSteps(checkpoints);
  for (const std::uint64_t step : steps) {
    const std::string folder = checkpoints + '/' + BestName(step);
    auto checkpoint = ReadStep(folder, step);
    if (checkpoint.ok() && !checkpoint->evaluated)
      checkpoint = InvalidData(folder + ": does not say what it was evaluated to");
    if (!checkpoint.ok()) {
      wrong.push_back(checkpoint.status().message());
      if (log) log(LogLevel::kWarning, "best checkpoint skipped: " + wrong.back());
    } else if (!best || Beats(*checkpoint->evaluated, *best->checkpoint.evaluated)) {
      best = FoundCheckpoint{std::move(*checkpoint), folder};
    }
  }
  if (best) return std::move(*best);
  // Its run goes on and has put a better one in the place of what we saw.
  if (BestSteps(checkpoints) != steps) return ReadBestCheckpoint(directory, log);
  return InvalidData(
      checkpoints + "/best: names no checkpoint" +
      (wrong.empty() ? "" : " that can be used: " + Joined(wrong)) +
      "; a run keeps one when it evaluates ([evaluation]: its actors' episodes, or those "
      "of run.environment): take "
      "the newest one instead");
}

Status CheckSameModel(const FoundCheckpoint& found, const ModelSpec& spec) {
  const std::string difference = DifferenceOf(found.checkpoint.weights.spec, spec);
  if (difference.empty()) return {};
  return InvalidData(found.folder + " is of another model: " + difference +
                     "; go on with the config it was made with, or start another run");
}

}  // namespace murmurate
