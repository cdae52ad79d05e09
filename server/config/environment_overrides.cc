#include "server/config/environment_overrides.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "server/config/config.h"

namespace murmurate {
namespace {

constexpr std::string_view kBetween = "__";

std::string Small(std::string_view text) {
  std::string small(text);
  for (char& c : small) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return small;
}

std::string Capital(const std::string& text) {
  std::string capital(text);
  for (char& c : capital) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return capital;
}

/// A name as a variable can have it, in small letters.
std::string Alike(const std::string& name) {
  std::string alike = Small(name);
  std::ranges::replace_if(
      alike, [](char c) { return c == '-' || c == '.'; }, '_');
  return alike;
}

std::vector<std::string> WordsOf(std::string_view rest) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at != rest.npos;) {
    const std::size_t end = rest.find(kBetween, at);
    words.push_back(Small(rest.substr(at, end == rest.npos ? end : end - at)));
    at = end == rest.npos ? end : end + kBetween.size();
  }
  return words;
}

std::string Joined(const std::vector<std::string>& words) {
  std::string path;
  for (const std::string& word : words) path += (path.empty() ? "" : ".") + word;
  return path;
}

/// "MURMURATE_RUN__SEED" for a variable that should have been it, "" for any other: it has one
/// underscore between a section and a key.
std::string MeantBy(std::string_view rest) {
  for (const ConfigRule& rule : Schema().general)
    if (Small(rest) == rule.section + '_' + rule.key)
      return kEnvironmentPrefix + Capital(rule.section) + std::string(kBetween) + Capital(rule.key);
  return "";
}

template <typename Names>
void TakeName(const Names& names, std::string* word) {
  for (const std::string& name : names)
    if (Alike(name) == *word) *word = name.find('.') == name.npos ? name : '"' + name + '"';
}

template <typename Map>
std::vector<std::string> KeysIn(const Map& map) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : map) keys.push_back(key);
  return keys;
}

std::vector<std::string> SettingsIn(const ConfigEntries& entries) {
  std::vector<std::string> names;
  for (const auto& [path, entry] : entries.values)
    if (path.starts_with("settings.")) names.push_back(path.substr(std::strlen("settings.")));
  return names;
}

void TakeNames(const ConfigEntries& entries, std::vector<std::string>* words) {
  std::vector<std::string>& all = *words;
  if (all[0] == "settings") TakeName(SettingsIn(entries), &all[1]);
  if (all.size() < 3) return;
  if (all[0] == "model") TakeName(entries.models, &all[1]);
  if (all[0] != "stream") return;
  TakeName(KeysIn(entries.streams), &all[1]);
  const auto stream = entries.streams.find(all[1]);
  if (stream != entries.streams.end() && all.size() > 4 && all[2] == "field")
    TakeName(KeysIn(stream->second.fields), &all[3]);
}

}  // namespace

std::vector<ConfigOverride> TakeEnvironmentOverrides() {
  std::vector<ConfigOverride> found;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const std::string_view text(*variable);
    const std::size_t equals = text.find('=');
    const std::string name(text.substr(0, equals));
    if (equals == text.npos || !name.starts_with(kEnvironmentPrefix)) continue;
    const std::string_view rest = std::string_view(name).substr(std::strlen(kEnvironmentPrefix));
    if (rest.find(kBetween) == rest.npos && MeantBy(rest).empty()) continue;
    found.push_back({Joined(WordsOf(rest)), std::string(text.substr(equals + 1)), name});
  }
  for (const ConfigOverride& change : found) unsetenv(change.origin.c_str());
  std::ranges::sort(found, {}, &ConfigOverride::origin);
  return found;
}

Result<ConfigOverride> NamedAsIn(const ConfigEntries& entries, const ConfigOverride& change) {
  if (!IsFromEnvironment(change.origin)) return change;
  const std::string rest = change.origin.substr(std::strlen(kEnvironmentPrefix));
  std::vector<std::string> words = WordsOf(rest);
  if (words.size() < 2 || std::ranges::count(words, "") > 0) {
    const std::string meant = MeantBy(rest);
    return InvalidArgument(
        change.origin +
        ": expected MURMURATE_SECTION__KEY, with two underscores between section and key; write " +
        (meant.empty() ? "for example MURMURATE_ALGORITHM__EPOCHS=4" : meant));
  }
  TakeNames(entries, &words);
  return ConfigOverride{Joined(words), change.value, change.origin};
}

}  // namespace murmurate
