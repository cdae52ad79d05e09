#include "server/operate/checkpoint_files.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>

#include "shared/core/check.h"
#include "shared/core/sha256.h"
#include "shared/model/safetensors.h"

namespace murmurate {
namespace {

using Json = nlohmann::ordered_json;
constexpr char kNanPrefix[] = "nan:";

std::string Text(std::uint64_t word) { return std::to_string(word); }

std::string Text(double value) {
  char digits[40];
  if (!std::isnan(value)) return {digits, std::to_chars(digits, std::end(digits), value).ptr};
  const auto bits = std::bit_cast<std::uint64_t>(value);
  return kNanPrefix + std::string(digits, std::to_chars(digits, std::end(digits), bits, 16).ptr);
}

template <typename Number, typename... Base>
bool Read(std::string_view text, Number* number, Base... base) {
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), *number, base...);
  return error == std::errc() && end == text.data() + text.size();
}

bool FromText(std::string_view text, std::uint64_t* word) { return Read(text, word, 10); }

bool FromText(std::string_view text, double* value) {
  if (!text.starts_with(kNanPrefix)) return Read(text, value);
  std::uint64_t bits = 0;
  if (!Read(text.substr(sizeof kNanPrefix - 1), &bits, 16)) return false;
  *value = std::bit_cast<double>(bits);
  return true;
}

template <typename Number>
Json ToJson(const std::map<std::string, std::vector<Number>>& arrays) {
  Json json = Json::object();
  for (const auto& [name, values] : arrays) {
    Json& list = json[name] = Json::array();
    for (const Number value : values) list.push_back(Text(value));
  }
  return json;
}

Status BadNumber(const std::string& name, const std::string& text) {
  return InvalidData(name + " is \"" + text + "\" where a number was expected");
}

template <typename Number>
Status ReadNumber(const Json& json, const std::string& name, Number* number) {
  const std::string& text = json.get_ref<const std::string&>();
  return FromText(text, number) ? Status() : BadNumber(name, text);
}

template <typename Number>
Status FromJson(const Json& json, std::map<std::string, std::vector<Number>>* arrays) {
  for (const auto& [name, list] : json.items()) {
    std::vector<Number>& values = (*arrays)[name];
    for (const Json& text : list)
      MURMURATE_RETURN_IF_ERROR(ReadNumber(text, name, &values.emplace_back()));
  }
  return {};
}

Status FillEvaluated(const Json& json, EvaluatedReturn* evaluated) {
  MURMURATE_RETURN_IF_ERROR(
      ReadNumber(json.at("mean_return"), "mean_return", &evaluated->mean_return));
  for (const auto& [name, value] : json.at("settings").items())
    MURMURATE_RETURN_IF_ERROR(ReadNumber(value, name, &evaluated->settings[name]));
  return {};
}

Json ToJson(const EvaluatedReturn& evaluated) {
  Json settings = Json::object();
  for (const auto& [name, value] : evaluated.settings) settings[name] = Text(value);
  return {{"mean_return", Text(evaluated.mean_return)}, {"settings", settings}};
}

Status FillState(const Json& json, Checkpoint* checkpoint) {
  MURMURATE_RETURN_IF_ERROR(ReadNumber(json.at("steps"), "steps", &checkpoint->weights.steps));
  MURMURATE_RETURN_IF_ERROR(
      ReadNumber(json.at("version"), "version", &checkpoint->weights.version));
  if (const Json& mean = json.at("mean_return"); !mean.is_null())
    MURMURATE_RETURN_IF_ERROR(ReadNumber(mean, "mean_return", &checkpoint->mean_return.emplace()));
  if (json.contains("evaluated"))
    MURMURATE_RETURN_IF_ERROR(FillEvaluated(json["evaluated"], &checkpoint->evaluated.emplace()));
  if (json.contains("environment_steps"))
    MURMURATE_RETURN_IF_ERROR(
        ReadNumber(json["environment_steps"], "environment_steps", &checkpoint->environment_steps));
  checkpoint->settings = json.at("settings").get<std::map<std::string, std::string>>();
  MURMURATE_RETURN_IF_ERROR(FromJson(json.at("words"), &checkpoint->state.words));
  return FromJson(json.at("doubles"), &checkpoint->state.doubles);
}

/// The manifest's text without the seal, and without the brace that ends it.
std::string Unsealed(const Manifest& manifest) {
  std::string text = "{\n  \"format\": " + std::to_string(Manifest::kFormat) + ",\n  \"step\": \"" +
                     std::to_string(manifest.step) + "\",\n  \"spec\": \"" + manifest.spec +
                     "\",\n  \"files\": {\n";
  const char* comma = "";
  for (const auto& [name, seal] : manifest.files) {
    text += comma;
    text += "    \"" + name + "\": {\"size\": " + std::to_string(seal.size) + ", \"sha256\": \"" +
            seal.sha256 + "\"}";
    comma = ",\n";
  }
  return text + "\n  },\n";
}

/// Names are our own and sums hexadecimal: no text is longer than its manifest, none has quotes.
Result<Manifest> FromManifestJson(const Json& json) {
  if (!json.is_object() || !json.contains("format") || !json["format"].is_number_unsigned())
    return InvalidData("is no manifest of a checkpoint");
  if (const auto format = json["format"].get<std::uint64_t>(); format != Manifest::kFormat)
    return InvalidData("has the format " + std::to_string(format) + " where " +
                       std::to_string(Manifest::kFormat) +
                       " was expected: another version of murmurate wrote it; use that one");
  Manifest manifest;
  MURMURATE_RETURN_IF_ERROR(ReadNumber(json.at("step"), "step", &manifest.step));
  manifest.spec = json.at("spec").get<std::string>();
  for (const auto& [name, file] : json.at("files").items())
    manifest.files[name] = {file.at("size").get<std::uint64_t>(),
                            file.at("sha256").get<std::string>()};
  for (const char* name : {kWeightsName, kOptimizerName, kStateName})
    if (!manifest.files.contains(name)) return InvalidData(std::string("does not list ") + name);
  if (manifest.files.size() != 3) return InvalidData("lists a file that no checkpoint has");
  return manifest;
}

}  // namespace

std::string FormatOptimizer(const SavedState& state) {
  std::vector<NamedTensor> tensors;
  for (const auto& [name, values] : state.floats)
    tensors.push_back({name, {static_cast<int>(values.size())}, values});
  return FormatSafetensors({}, tensors);
}

std::string FormatState(const Checkpoint& checkpoint) {
  Json json{
      {"steps", Text(checkpoint.weights.steps)},
      {"version", Text(checkpoint.weights.version)},
      {"mean_return", checkpoint.mean_return ? Json(Text(*checkpoint.mean_return)) : Json(nullptr)},
      {"settings", checkpoint.settings},
      {"words", ToJson(checkpoint.state.words)},
      {"doubles", ToJson(checkpoint.state.doubles)}};
  if (checkpoint.environment_steps > 0)
    json["environment_steps"] = Text(checkpoint.environment_steps);
  if (checkpoint.evaluated) json["evaluated"] = ToJson(*checkpoint.evaluated);
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + '\n';
}

Status ParseOptimizer(std::string_view bytes, SavedState* state) {
  auto file = ParseSafetensors(std::as_bytes(std::span(bytes.data(), bytes.size())));
  if (!file.ok()) return file.status();
  for (const NamedTensor& tensor : file->tensors)
    state->floats[tensor.name].assign(tensor.values.begin(), tensor.values.end());
  return {};
}

Status ParseState(std::string_view text, Checkpoint* checkpoint) try {
  return FillState(Json::parse(text), checkpoint);
} catch (const Json::exception& error) {
  return InvalidData(std::string("is no state of a checkpoint (") + error.what() + ')');
}

std::string FormatManifest(const Manifest& manifest) {
  const std::string text = Unsealed(manifest);
  return text + "  \"sha256 of the lines above\": \"" + ToHex(Sha256(text)) + "\"\n}\n";
}

Result<Manifest> ParseManifest(std::string_view text) try {
  auto manifest = FromManifestJson(Json::parse(text));
  // guard: DamagedCheckpoint.IsFoundByEverySingleBit: the manifest names its own sum
  if (manifest.ok() && FormatManifest(*manifest) != text)
    return InvalidData("does not have the sum that it names: it is damaged");
  return manifest;
} catch (const Json::exception&) {
  return InvalidData("is no manifest of a checkpoint: it is cut off or damaged");
}

}  // namespace murmurate
