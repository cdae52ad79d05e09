#include "server/config/config_text.h"

namespace murmurate {
namespace {

constexpr std::string_view kSettingsPrefix = "settings.";

/// Names with a dot must stand in quotes.
std::string TomlKey(const std::string& name) {
  return name.find('.') == std::string::npos ? name : '"' + name + '"';
}

/// A section of one's own: its name as TOML writes it, the beginning of its keys' paths, its rules.
struct OwnSection {
  std::string title, prefix, rules;
};

std::vector<OwnSection> SectionsOf(const std::string& name, const ConfigStream& stream) {
  std::vector<OwnSection> sections{{"stream." + TomlKey(name), "stream." + name + '.', "stream"}};
  for (const auto& [field, origin] : stream.fields)
    sections.push_back({sections[0].title + ".field." + field,
                        sections[0].prefix + "field." + field + '.', "stream.field"});
  if (!stream.alarm.empty())
    sections.push_back(
        {sections[0].title + ".alarm", sections[0].prefix + "alarm.", "stream.alarm"});
  return sections;
}

/// The keys of the N-th [[hook]], in the order of the schema.
std::vector<const ConfigRule*> HookRulesOf(const std::string& kind) {
  std::vector<const ConfigRule*> rules;
  for (const ConfigRule& rule : Schema().hook)
    if (rule.section == "hook" || rule.section == "hook." + kind) rules.push_back(&rule);
  return rules;
}

std::vector<OwnSection> SectionsOf(const std::string& model) {
  const std::string title = "model." + TomlKey(model), prefix = "model." + model + '.';
  return {{title, prefix, "model"},
          {title + ".algorithm", prefix + "algorithm.", "algorithm"},
          {title + ".optimizer", prefix + "optimizer.", "optimizer"},
          {title + ".replay", prefix + "replay.", "replay"}};
}

}  // namespace

std::vector<ConfigLine> Explain(const Config& config) {
  const ConfigEntries& entries = config.entries();
  std::vector<ConfigLine> lines;
  const auto add = [&](const std::string& path, const std::string& meaning) {
    if (const auto entry = entries.values.find(path); entry != entries.values.end())
      lines.push_back({path, ToToml(entry->second.value), entry->second.origin, meaning});
  };
  for (const ConfigRule& rule : Schema().general) add(rule.section + '.' + rule.key, rule.meaning);
  for (const std::string& model : entries.models)
    for (const auto& [path, entry] : entries.values)
      if (path.starts_with("model." + model + '.')) add(path, "");
  for (const auto& [path, entry] : entries.values)
    if (path.starts_with(kSettingsPrefix)) add(path, Schema().setting.meaning);
  for (const auto& [name, stream] : entries.streams)
    for (const OwnSection& section : SectionsOf(name, stream))
      for (const ConfigRule& rule : Schema().stream)
        if (rule.section == section.rules) add(section.prefix + rule.key, rule.meaning);
  for (std::size_t i = 0; i < entries.hooks.size(); ++i)
    for (const ConfigRule* rule : HookRulesOf(entries.hooks[i]))
      add("hook." + std::to_string(i + 1) + '.' + rule->key, rule->meaning);
  return lines;
}

std::string ResolvedToml(const Config& config) {
  const ConfigEntries& entries = config.entries();
  std::string text, section;
  const auto write = [&](const std::string& in, const std::string& key, const std::string& path) {
    const auto entry = entries.values.find(path);
    if (entry == entries.values.end()) return;
    if (in != section) text += (text.empty() ? "[" : "\n[") + in + "]\n";
    section = in;
    const bool unset = std::holds_alternative<std::monostate>(entry->second.value);
    text += unset ? "# " + key + " is not set\n" : key + " = " + ToToml(entry->second.value) + '\n';
  };
  for (const ConfigRule& rule : Schema().general)
    write(rule.section, rule.key, rule.section + '.' + rule.key);
  std::vector<OwnSection> sections;
  const auto add = [&](std::vector<OwnSection> more) {
    sections.insert(sections.end(), more.begin(), more.end());
  };
  for (const std::string& model : entries.models) add(SectionsOf(model));
  for (const auto& [name, stream] : entries.streams) add(SectionsOf(name, stream));
  for (const OwnSection& in : sections)
    for (const std::string& key : Schema().KeysOf(in.rules)) write(in.title, key, in.prefix + key);
  for (const auto& [path, entry] : entries.values)
    if (path.starts_with(kSettingsPrefix))
      write("settings", TomlKey(path.substr(kSettingsPrefix.size())), path);
  for (std::size_t i = 0; i < entries.hooks.size(); ++i) {
    section.clear();  // each has a heading of its own
    for (const ConfigRule* rule : HookRulesOf(entries.hooks[i]))
      write("[hook]", rule->key, "hook." + std::to_string(i + 1) + '.' + rule->key);
  }
  return text;
}

}  // namespace murmurate
