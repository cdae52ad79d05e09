#include "server/schema/config_reader.h"

#include <toml++/toml.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <sstream>

#include "server/schema/config_aliases.h"
#include "server/schema/toml_value.h"
#include "shared/core/check.h"
#include "shared/wire/protocol.h"

namespace murmurate {
namespace {

/// Names the place of a node: "cartpole.toml:7", or "--set a.b=c" whatever the node.
using Where = std::function<std::string(const toml::node&)>;

constexpr char kHookAdvice[] =
    "write [[hook]], and below it its kind, such as kind = \"logging\", and its keys";

struct Section {
  std::string name;    ///< of the rules: "algorithm"
  std::string prefix;  ///< of the keys: "algorithm.", "model.npc.algorithm."
};

std::string Show(const toml::node& node) {
  std::ostringstream text;
  node.visit([&](const auto& value) { text << value; });
  std::string shown = text.str();
  if (const auto string = node.value_exact<std::string>()) shown = ToToml(ConfigValue(*string));
  std::replace(shown.begin(), shown.end(), '\n', ' ');
  if (shown.size() > 60) shown = shown.substr(0, 57) + "...";
  static const std::map<toml::node_type, std::string> kNames{
      {toml::node_type::string, "string"},   {toml::node_type::integer, "integer"},
      {toml::node_type::boolean, "boolean"}, {toml::node_type::floating_point, "number"},
      {toml::node_type::array, "list"},      {toml::node_type::table, "table"}};
  const auto name = kNames.find(node.type());
  return shown + " (a" +
         (name == kNames.end() ? " date" : (name->second[0] == 'i' ? "n " : " ") + name->second) +
         ')';
}

std::string Absolute(const std::string& folder, const std::string& path) {
  std::error_code error;
  const auto whole = std::filesystem::absolute(std::filesystem::path(folder) / path, error);
  return error ? path : whole.lexically_normal().string();
}

class Reader {
 public:
  Reader(Where where, std::string folder, const ConfigSchema& schema, ConfigEntries* entries)
      : where_(std::move(where)), folder_(std::move(folder)), schema_(schema), entries_(entries) {}

  Status ReadRoot(const toml::table& root) {
    for (const auto& [key, node] : root) {
      const std::string name(key.str());
      const auto sections = schema_.SectionNames();
      if (std::find(sections.begin(), sections.end(), name) == sections.end())
        return Unknown(
            node,
            node.is_table() ? "section [" + name + "]" : "key \"" + name + "\" outside a section",
            name, sections);
      if (name == "hook") {
        MURMURATE_RETURN_IF_ERROR(ReadHooks(node));
        continue;
      }
      if (!node.is_table()) return NoSection(node, name, "write [" + name + "]");
      const toml::table& table = *node.as_table();
      MURMURATE_RETURN_IF_ERROR(name == "model"    ? ReadModel(table, {"model", "model."}, "")
                                : name == "stream" ? ReadStreams(table)
                                                   : ReadSection(table, {name, name + '.'}));
    }
    return {};
  }

 private:
  Status NoSection(const toml::node& node, const std::string& path,
                   const std::string& advice) const {
    return InvalidArgument(where_(node) + ": " + path + ": got " + Show(node) +
                           ", expected a section; " + advice);
  }

  /// `place`: as a message names it; `whose`: "a model".
  Status CheckName(const toml::node& node, const std::string& name, const std::string& place,
                   const std::string& whose) const {
    if (wire::IsGoodName(name)) return {};
    return InvalidArgument(where_(node) + ": " + place + ": " + whose +
                           "'s name has 1 to 64 of A-Z a-z 0-9 . _ -; choose another");
  }

  /// Makes the path of "PATH" or "name: PATH" absolute.
  void MakeAbsolute(std::string* text) const {
    const std::size_t colon = text->find(": ");
    const std::size_t begin = colon == std::string::npos ? 0 : colon + 2;
    *text = text->substr(0, begin) + Absolute(folder_, text->substr(begin));
  }

  Status ReadSection(const toml::table& table, const Section& section) {
    for (const auto& [key, node] : table)
      MURMURATE_RETURN_IF_ERROR(ReadKey(std::string(key.str()), node, section));
    return {};
  }

  /// [model] (`name` empty: tables in it are models) or [model.NAME] (algorithm and optimizer are).
  Status ReadModel(const toml::table& table, const Section& section, const std::string& name) {
    for (const auto& [key, node] : table) {
      const std::string word(key.str());
      const auto* inner = node.as_table();
      if (inner == nullptr || schema_.Find("model", word) != nullptr) {
        MURMURATE_RETURN_IF_ERROR(ReadKey(word, node, section));
      } else if (!name.empty()) {
        if (word != "algorithm" && word != "optimizer" && word != "replay")
          return Unknown(node, "section [" + section.prefix + word + ']', word,
                         {"algorithm", "optimizer", "replay"});
        MURMURATE_RETURN_IF_ERROR(ReadSection(*inner, {word, section.prefix + word + '.'}));
      } else {
        MURMURATE_RETURN_IF_ERROR(CheckName(node, word, "[model." + word + "]", "a model"));
        entries_->models.insert(word);
        MURMURATE_RETURN_IF_ERROR(ReadModel(*inner, {"model", "model." + word + '.'}, word));
      }
    }
    return {};
  }

  Status ReadStreams(const toml::table& table) {
    for (const auto& [key, node] : table) {
      const std::string name(key.str());
      if (!node.is_table())
        return NoSection(node, "stream." + name,
                         "give each stream a name and write its keys below [stream.NAME]");
      MURMURATE_RETURN_IF_ERROR(CheckName(node, name, "[stream." + name + "]", "a stream"));
      entries_->streams.try_emplace(name, ConfigStream{where_(node), {}, {}});
      MURMURATE_RETURN_IF_ERROR(ReadStream(*node.as_table(), name));
    }
    return {};
  }

  Status ReadStream(const toml::table& table, const std::string& name) {
    const Section section{"stream", "stream." + name + '.'};
    for (const auto& [key, node] : table) {
      const std::string word(key.str());
      if (word == "password") return RefusePassword(node, section);
      MURMURATE_RETURN_IF_ERROR(word == "field" && node.is_table()
                                    ? ReadFields(*node.as_table(), name)
                                : word == "alarm" ? ReadAlarm(node, name)
                                                  : ReadKey(word, node, section));
    }
    return {};
  }

  /// Refuses a password, without showing any of it.
  Status RefusePassword(const toml::node& node, const Section& section) const {
    const std::string where = where_(node);
    return InvalidArgument((where.starts_with("--set ") ? "--set" : where) + ": " + section.prefix +
                           "password: a config is copied into the run's folder, where others may "
                           "read it; write the password to a file and password_file = "
                           "\"FILE\", or export it and write password_env = \"NAME\"");
  }

  Status ReadFields(const toml::table& table, const std::string& stream) {
    for (const auto& [key, node] : table) {
      const std::string field(key.str()), path = "stream." + stream + ".field." + field;
      if (!node.is_table())
        return NoSection(node, path,
                         "write [" + path + "] with unit, low, high or pointer below it");
      entries_->streams[stream].fields.try_emplace(field, where_(node));
      MURMURATE_RETURN_IF_ERROR(ReadSection(*node.as_table(), {"stream.field", path + '.'}));
    }
    return {};
  }

  Status ReadAlarm(const toml::node& node, const std::string& stream) {
    const std::string path = "stream." + stream + ".alarm";
    if (!node.is_table())
      return NoSection(node, path, "write [" + path + "] with when and publish below it");
    if (std::string& place = entries_->streams[stream].alarm; place.empty()) place = where_(node);
    return ReadSection(*node.as_table(), {"stream.alarm", path + '.'});
  }

  /// [[hook]], or of an override a change of one that is there, [hook.2].
  Status ReadHooks(const toml::node& node) {
    const auto* list = node.as_array();
    for (std::size_t i = 0; list != nullptr && i < list->size(); ++i) {
      const toml::node& one = *list->get(i);
      if (!one.is_table()) return NoSection(one, "hook", kHookAdvice);
      MURMURATE_RETURN_IF_ERROR(ReadNewHook(*one.as_table()));
    }
    if (list != nullptr) return {};
    if (!node.is_table()) return NoSection(node, "hook", kHookAdvice);
    for (const auto& [key, inner] : *node.as_table()) {
      const std::string number(key.str());
      const auto kind = entries_->values.find("hook." + number + ".kind");
      if (kind == entries_->values.end() || !inner.is_table())
        return InvalidArgument(where_(inner) + ": there is no hook " + number + "; " + kHookAdvice);
      MURMURATE_RETURN_IF_ERROR(ReadHook(*inner.as_table(), number));
    }
    return {};
  }

  Status ReadNewHook(const toml::table& table) {
    const std::string number = std::to_string(entries_->hooks.size() + 1);
    const toml::node* kind = table.get("kind");
    if (kind == nullptr)
      return InvalidArgument(where_(table) + ": hook." + number + ": kind is not set; " +
                             kHookAdvice);
    MURMURATE_RETURN_IF_ERROR(ReadKey("kind", *kind, {"hook", "hook." + number + '.'}));
    entries_->hooks.push_back(*kind->value<std::string>());
    return ReadHook(table, number);
  }

  Status ReadHook(const toml::table& table, const std::string& number) {
    const std::string prefix = "hook." + number + '.';
    const std::string kind = entries_->hooks[std::stoul(number) - 1], own = "hook." + kind;
    for (const auto& [key, node] : table) {
      const std::string word(key.str());
      const bool common = schema_.Find("hook", word) != nullptr;
      MURMURATE_RETURN_IF_ERROR(ReadKey(word, node, {common ? "hook" : own, prefix}));
      if (word == "kind" && node.value<std::string>() != kind)
        return InvalidArgument(where_(node) + ": hook." + number +
                               ".kind: the config's file has \"" + kind +
                               "\", which an override cannot change; write the other kind there");
    }
    return {};
  }

  Status ReadKey(const std::string& key, const toml::node& node, const Section& section) {
    const std::string path = section.prefix + key;
    if (section.name == "settings")
      MURMURATE_RETURN_IF_ERROR(CheckName(node, key, path, "a setting"));
    const ConfigRule* rule = schema_.Find(section.name, key);
    if (rule == nullptr)
      return Unknown(
          node,
          "key \"" + key + "\" in [" + section.prefix.substr(0, section.prefix.size() - 1) + ']',
          key, schema_.KeysOf(section.name));
    ConfigValue value = ToValue(node, *rule);
    const std::string expected = Fit(*rule, &value);
    if (!expected.empty())
      return InvalidArgument(where_(node) + ": " + path + ": got " + Show(node) + ", expected " +
                             expected + "; write for example " + key + " = " + rule->example);
    if (rule->kind == ValueKind::kPath) value = Absolute(folder_, std::get<std::string>(value));
    if (rule->kind == ValueKind::kPaths)
      for (std::string& text : std::get<std::vector<std::string>>(value)) MakeAbsolute(&text);
    entries_->values[path] = {std::move(value), where_(node)};
    return {};
  }

  Status Unknown(const toml::node& node, const std::string& what, const std::string& got,
                 const std::vector<std::string>& known) const {
    const std::string nearest = Nearest(got, known);
    std::string advice = AliasAdvice(got, known);
    if (advice.empty()) advice = "did you mean \"" + nearest + "\"?";
    if (nearest.empty() && FindAlias(got) == nullptr) {
      advice = "expected one of";
      for (const std::string& name : known) advice += (&name == &known.front() ? " " : ", ") + name;
    }
    return InvalidArgument(where_(node) + ": unknown " + what + "; " + advice);
  }

  Where where_;
  std::string folder_;
  const ConfigSchema& schema_;
  ConfigEntries* entries_;
};

Status ParseInto(const ConfigSource& source, const Where& where, const ConfigSchema& schema,
                 ConfigEntries* entries) {
  const std::string& label = source.label;
  try {
    const toml::table root = toml::parse(std::string_view(source.text), std::string_view(label));
    return Reader(where, source.folder, schema, entries).ReadRoot(root);
  } catch (const toml::parse_error& error) {
    return InvalidArgument(label + ':' + std::to_string(error.source().begin.line) +
                           ": not TOML (" + std::string(error.description()) +
                           "); correct that line");
  }
}

bool IsToml(const std::string& value) {
  try {
    const toml::table parsed = toml::parse(std::string_view(value), std::string_view("value"));
    return parsed.size() == 1;
  } catch (const toml::parse_error&) {
    return false;
  }
}

/// "--set run.seed=5", "--seed 5", "MURMURATE_RUN__SEED".
std::string NameOf(const ConfigOverride& change) {
  if (IsFromEnvironment(change.origin)) return change.origin;
  const bool set = change.origin == "--set" || change.origin == "set";
  return change.origin + ' ' + (set ? change.path + '=' : "") + change.value;
}

/// Where the last dot outside quotes is: of settings."wind.x" the first.
std::size_t DotBeforeKey(const std::string& path) {
  std::size_t dot = std::string::npos;
  bool quoted = false;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] == '"') quoted = !quoted;
    if (path[i] == '.' && !quoted) dot = i;
  }
  return dot;
}

}  // namespace

std::string PathOf(const std::string& section, const std::string& key, const std::string& model) {
  if (model.empty()) return section + '.' + key;
  return "model." + model + '.' + (section == "model" ? "" : section + '.') + key;
}

Status ReadText(const ConfigSource& source, const ConfigSchema& schema, ConfigEntries* entries) {
  const auto where = [&](const toml::node& node) {
    return source.label + ':' + std::to_string(node.source().begin.line);
  };
  return ParseInto(source, where, schema, entries);
}

Status ReadOverride(const ConfigOverride& change, const ConfigSchema& schema,
                    ConfigEntries* entries) {
  const std::string named = NameOf(change);
  const std::size_t dot = DotBeforeKey(change.path);
  if (dot == std::string::npos || dot == 0 || dot + 1 == change.path.size())
    return InvalidArgument(named + ": got the key \"" + change.path +
                           "\", expected section.key=value; write for example --set " +
                           (FindAlias(change.path) == nullptr
                                ? "algorithm.epochs=4"
                                : FindAlias(change.path)->path + ('=' + change.value)));
  const std::string key = change.path.substr(dot + 1);
  std::string line = key + " = " + change.value;
  if (change.value.find('\n') != std::string::npos || !IsToml(line))
    line = key + " = " + ToToml(ConfigValue(change.value));
  const std::string text = '[' + change.path.substr(0, dot) + "]\n" + line + '\n';
  return ParseInto(
      {named, "", text}, [&](const toml::node&) { return named; }, schema, entries);
}

}  // namespace murmurate
