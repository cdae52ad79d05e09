#include "server/config/initial_weights.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "server/metrics/number_text.h"
#include "server/operate/checkpoint.h"
#include "shared/core/check.h"
#include "shared/model/parameter_layout.h"

namespace murmurate {
namespace {

constexpr std::size_t kMaxMapBytes = 1 << 20;
constexpr std::size_t kMaxFileBytes = std::size_t{2} << 30;

/// Fails with a code that tells a path that is wrong from a file that is damaged.
Status Refuse(const InitialFile& from, StatusCode code, const std::string& what) {
  return Status(code, from.origin + ": " + from.path + ": " + what);
}

std::string Listed(const std::string& title, const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 12;
  std::string text = names.empty() ? "" : "; " + title + ": ";
  for (std::size_t i = 0; i < std::min(names.size(), kMost); ++i)
    text += (i > 0 ? ", " : "") + names[i];
  if (names.size() > kMost) text += " and " + std::to_string(names.size() - kMost) + " more";
  return text;
}

std::string Report(const std::string& path, const WeightsMatch& match) {
  return "initialize_from " + path + ": " + std::to_string(match.taken.size()) + " of " +
         std::to_string(match.tensors) + " tensors (" + WithCommas(match.taken_numbers) + " of " +
         WithCommas(match.numbers) + " numbers) taken" + Listed("not in the file", match.missing) +
         Listed("of another shape", match.reshaped) + Listed("not used", match.unused);
}

/// Numbers that the head gives mean something else in other units.
std::string UnitsReport(const SafetensorsFile& file, const ModelSpec& spec) {
  const auto text = file.metadata.find("murmurate.spec");
  bool scaled = false;
  if (text != file.metadata.end()) {
    const Result<ModelSpec> saved = ModelSpec::Parse(text->second);
    scaled = saved.ok() && saved->continuous.scaled;
  }
  if (scaled == spec.continuous.scaled || spec.continuous.squashed) return "";
  if (scaled)
    return "; the file's policy acts in units of its box and this model in the game's, so what it "
           "does is another: model.scale_actions = true keeps it";
  return "; the file's policy acts in the game's units and this model in those of its box, so what "
         "it does is another: model.scale_actions = false keeps it";
}

Result<SafetensorsFile> ReadInitialFile(const InitialFile& from) {
  std::error_code error;
  const bool exists = std::filesystem::exists(from.path, error);
  if (error)
    return Refuse(from, StatusCode::kInvalidArgument,
                  "cannot be looked at (" + error.message() +
                      "); make it and its folders readable for this user");
  if (!exists)
    return Refuse(from, StatusCode::kInvalidArgument,
                  "there is no such file; give the path of a safetensors file, relative to the "
                  "config's folder");
  const std::filesystem::path path(from.path);
  const bool folder = std::filesystem::is_directory(path, error);
  const std::filesystem::path checkpoint = folder ? path : path.parent_path();
  const bool sealed = std::filesystem::exists(checkpoint / "MANIFEST.json", error);
  if (folder && !sealed)
    return Refuse(from, StatusCode::kInvalidArgument,
                  "is a folder where a safetensors file or a checkpoint was expected; name the "
                  "file in it, or of a run RUN/checkpoints/latest");
  if (sealed) {
    const Status verified = ReadCheckpoint(checkpoint).status();
    if (!verified.ok()) return Refuse(from, verified.code(), verified.message());
  }
  Result<std::string> bytes = ReadFile(folder ? path / "weights.safetensors" : path, kMaxFileBytes);
  if (!bytes.ok()) return Refuse(from, bytes.status().code(), bytes.status().message());
  Result<SafetensorsFile> file =
      ParseSafetensors(std::as_bytes(std::span<const char>(*bytes)), OtherTypes::kName);
  if (file.ok()) return file;
  return Refuse(from, file.status().code(),
                "no safetensors file that can be read: " + file.status().message() +
                    "; give one, or take the setting out");
}

Status RefuseMap(const InitialFile& from, StatusCode code, const std::string& what) {
  return Status(code, from.map_origin + ": " + from.map_path + ": " + what);
}

Result<NameMap> ReadNameMap(const InitialFile& from) {
  const Result<std::string> text = ReadFile(from.map_path, kMaxMapBytes);
  if (!text.ok())
    return RefuseMap(from, text.status().code(),
                     text.status().message() +
                         "; name a file with lines such as \"policy.0\" = "
                         "\"actor.fc1\"");
  Result<NameMap> map = NameMap::Parse(*text);
  if (!map.ok()) return RefuseMap(from, map.status().code(), map.status().message());
  return map;
}

/// The file in our layout and under our names.
Result<std::shared_ptr<const SafetensorsFile>> Converted(
    const InitialFile& from, const InitialFiles& files,
    const std::shared_ptr<const SafetensorsFile>& file, const ModelSpec& spec) {
  const TensorLayout layout = LayoutOf(*file, from.layout);
  if (layout == TensorLayout::kMurmurate && from.map_path.empty()) return file;
  const NameMap names = from.map_path.empty() ? NameMap() : files.maps.at(from.map_path);
  Result<SafetensorsFile> ours = InOurLayout(*file, spec, layout, names);
  if (ours.ok()) return std::make_shared<const SafetensorsFile>(*std::move(ours));
  const Status& why = ours.status();
  if (why.code() == StatusCode::kInvalidArgument) return RefuseMap(from, why.code(), why.message());
  return Refuse(from, why.code(), why.message());
}

}  // namespace

Result<InitialFiles> ReadInitialFiles(const std::vector<InitialFile>& named) {
  InitialFiles files;
  for (const InitialFile& from : named) {
    if (from.path.empty() && from.map_path.empty())
      return InvalidArgument(from.layout_origin +
                             ": it says how the tensors of a file lie, and initialize_from names "
                             "none; name one, or take this setting out");
    if (from.path.empty())
      return RefuseMap(from, StatusCode::kInvalidArgument,
                       "it names the tensors of a file, and initialize_from names none; name one, "
                       "or take this setting out");
    if (!from.map_path.empty() && !files.maps.contains(from.map_path)) {
      Result<NameMap> map = ReadNameMap(from);
      if (!map.ok()) return map.status();
      files.maps[from.map_path] = *std::move(map);
    }
    if (files.weights.contains(from.path)) continue;
    Result<SafetensorsFile> file = ReadInitialFile(from);
    if (!file.ok()) return file.status();
    files.weights[from.path] = std::make_shared<const SafetensorsFile>(std::move(*file));
  }
  return files;
}

Result<InitialWeights> MatchInitialFile(const InitialFile& from, const InitialFiles& files,
                                        const ModelSpec& spec) {
  const auto found = files.weights.find(from.path);
  MURMURATE_CHECK(found != files.weights.end(),
                  "the files of a config are read before its models are made");
  const auto file = Converted(from, files, found->second, spec);
  if (!file.ok()) return file.status();
  Result<WeightsMatch> match = MatchWeights(**file, ParameterLayout(spec));
  if (!match.ok()) return Refuse(from, match.status().code(), match.status().message());
  const std::string report = Report(from.path, *match) + UnitsReport(**file, spec);
  return InitialWeights{*file, std::move(*match), report};
}

}  // namespace murmurate
