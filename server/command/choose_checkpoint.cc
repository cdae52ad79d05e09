#include "server/command/choose_checkpoint.h"

#include <filesystem>
#include <iostream>

namespace murmurate {
namespace {

namespace fs = std::filesystem;

/// RUN/checkpoints/step-... and RUN/models/NAME/checkpoints/step-...
std::string RunOf(const fs::path& checkpoint) {
  std::error_code error;
  fs::path run = fs::canonical(checkpoint, error).parent_path().parent_path();
  if (run.parent_path().filename() == "models") run = run.parent_path().parent_path();
  return fs::exists(run / "config.toml", error) ? run.string() : "";
}

void Warn(LogLevel, std::string_view message) { std::cerr << message << '\n'; }

}  // namespace

Result<CheckpointSource> FindCheckpointSource(const CommonArguments& common,
                                              const std::string& name) {
  auto folder = FindRun(common, name);
  if (!folder.ok()) return folder.status();
  std::error_code error;
  if (!fs::exists(*folder + "/MANIFEST.json", error) &&
      !fs::exists(*folder + "/weights.safetensors", error))
    return CheckpointSource{*folder, ""};
  return CheckpointSource{RunOf(*folder), *folder};
}

namespace {

Result<FoundCheckpoint> Choose(const CheckpointSource& source, bool best,
                               const std::string& best_option) {
  if (source.folder.empty() && best) return ReadBestCheckpoint(source.run, Warn);
  if (source.folder.empty()) {
    auto newest = ReadNewestCheckpoint(source.run, Warn);
    if (newest.ok()) return newest;
    const auto whole = ReadBestCheckpoint(source.run, nullptr);
    if (!whole.ok()) return newest.status();
    return InvalidData(newest.status().message() + ", or take its best one (" + whole->folder +
                       "), which is whole, with " + best_option);
  }
  auto checkpoint = ReadCheckpoint(source.folder);
  if (!checkpoint.ok()) return checkpoint.status();
  return FoundCheckpoint{std::move(*checkpoint), source.folder};
}

}  // namespace

Result<FoundCheckpoint> ChooseCheckpoint(const CheckpointSource& source, bool best,
                                         const std::string& best_option) {
  auto found = Choose(source, best, best_option);
  if (found.ok() && !found->checkpoint.weights.spec.arrays.empty())
    return InvalidData(
        found->folder +
        ": holds the arrays of a program of its own; any reader of safetensors files "
        "opens its weights.safetensors");
  return found;
}

Result<FoundCheckpoint> ChooseCheckpointNamed(const CheckpointSource& source,
                                              const std::string& which) {
  if (!source.folder.empty() && which != kNewestCheckpoint)
    return InvalidArgument("--checkpoint " + which + ": " + source.folder +
                           " is one checkpoint already; leave out --checkpoint");
  if (which == kNewestCheckpoint || which == "best")
    return ChooseCheckpoint(source, which == "best", "--checkpoint best");
  const std::string folder = source.run + "/checkpoints/" + which;
  std::error_code error;
  if (!fs::is_directory(folder, error))
    return InvalidArgument("--checkpoint " + which +
                           ": expected newest, best, or the name of a folder in " + source.run +
                           "/checkpoints; `murmurate inspect` lists these");
  return ChooseCheckpoint({source.run, folder}, false);
}

}  // namespace murmurate
