#include "server/schema/config_reader.h"

#include <toml++/toml.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <sstream>

#include "server/schema/config_aliases.h"
#include "shared/core/check.h"
#include "shared/wire/protocol.h"

namespace murmurate {
namespace {

/// Names the place of a node: "cartpole.toml:7", or "--set a.b=c" whatever the node.
using Where = std::function<std::string(const toml::node&)>;

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

std::optional<double> AsNumber(const toml::node* node) {
  if (node == nullptr || !node->is_number()) return std::nullopt;
  return node->value<double>();
}

/// The schedule that a table holds; not set when it is none.
ConfigValue AsSchedule(const toml::table& table) {
  ConfigSchedule schedule;
  const auto from = AsNumber(table.get("from")), to = AsNumber(table.get("to"));
  if (!from || !to) return {};
  schedule.from = *from;
  schedule.to = *to;
  for (const auto& [key, node] : table) {
    if (key == "from" || key == "to") continue;
    if (key == "steps" && node.is_integer() && *node.value<std::int64_t>() > 0)
      schedule.steps = node.value<std::int64_t>();
    else if (key == "shape" && node.is_string())
      schedule.shape = *node.value<std::string>();
    else
      return {};
  }
  static const std::set<std::string> kShapes{"linear", "cosine", "exponential"};
  return kShapes.count(schedule.shape) ? ConfigValue(schedule) : ConfigValue();
}

/// The curriculum that a table holds; not set when it is none. MakeCurriculum judges what it says.
ConfigValue AsCurriculum(const toml::table& table) {
  ConfigCurriculum curriculum;
  const auto from = AsNumber(table.get("from")), to = AsNumber(table.get("to"));
  if (!from || !to) return {};
  curriculum.from = *from;
  curriculum.to = *to;
  for (const auto& [key, node] : table) {
    if (key == "from" || key == "to") continue;
    if (key == "step" && node.is_number())
      curriculum.step = *node.value<double>();
    else if (key == "when" && node.is_string())
      curriculum.when = *node.value<std::string>();
    else if (key == "episodes" && node.is_integer())
      curriculum.episodes = *node.value<std::int64_t>();
    else
      return {};
  }
  return curriculum;
}

template <typename T>
ConfigValue AsList(const toml::array& array) {
  std::vector<T> values;
  for (const toml::node& node : array) {
    const auto value = node.value_exact<T>();
    if (!value) return {};
    values.push_back(*value);
  }
  return values;
}

/// Units as numbers when there is nothing else, else everything in words.
ConfigValue AsLayers(const toml::array& array) {
  ConfigValue units = AsList<std::int64_t>(array);
  if (!std::holds_alternative<std::monostate>(units)) return units;
  std::vector<std::string> layers;
  for (const toml::node& node : array) {
    const auto number = node.value_exact<std::int64_t>();
    const auto words = node.value_exact<std::string>();
    if (!number && !words) return {};
    layers.push_back(number ? "dense " + std::to_string(*number) : *words);
  }
  return layers;
}

ConfigValue AsNumbers(const toml::array& array) {
  std::vector<double> numbers;
  for (const toml::node& node : array) {
    const auto number = AsNumber(&node);
    if (!number) return {};
    numbers.push_back(*number);
  }
  return numbers;
}

/// Counts or durations.
ConfigValue AsSpans(const toml::array& array) {
  ConfigValue counts = AsList<std::int64_t>(array);
  return std::holds_alternative<std::monostate>(counts) ? AsList<std::string>(array) : counts;
}

ConfigValue ToValue(const toml::node& node, const ConfigRule& rule) {
  if (const auto value = node.value_exact<bool>()) return *value;
  if (const auto value = node.value_exact<std::int64_t>()) return *value;
  if (const auto value = node.value_exact<double>()) return *value;
  if (const auto value = node.value_exact<std::string>()) return *value;
  if (const auto* table = node.as_table())
    return rule.kind == ValueKind::kSetting && table->contains("when") ? AsCurriculum(*table)
                                                                       : AsSchedule(*table);
  const auto* array = node.as_array();
  if (array == nullptr) return {};
  switch (rule.kind) {
    case ValueKind::kLayers:
    case ValueKind::kNetwork:
      return AsLayers(*array);
    case ValueKind::kNumbers:
      return AsNumbers(*array);
    case ValueKind::kSpans:
      return AsSpans(*array);
    default:
      return AsList<std::string>(*array);
  }
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
  const std::size_t dot = change.path.rfind('.');
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
