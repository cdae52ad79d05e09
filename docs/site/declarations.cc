// Prints what the site's reference is generated from, as one JSON document: every command with its
// options, every key of a config, every example that the executable holds. It reads the
// declarations by which the executable parses its command line and its configs.
#include <CLI/CLI.hpp>
#include <iostream>
#include <nlohmann/json.hpp>

#include "server/command/command_line.h"
#include "server/command/command_words.h"
#include "server/config/config.h"
#include "server/config/examples.h"

namespace murmurate {
namespace {

using nlohmann::ordered_json;

ordered_json JsonOf(const OptionWords& option) {
  return {{"names", option.names},
          {"value", option.value},
          {"choices", option.choices},
          {"help", option.help}};
}

ordered_json JsonOf(const ArgumentWords& argument) {
  return {{"name", argument.name},
          {"help", argument.help},
          {"choices", argument.choices},
          {"required", argument.required},
          {"many", argument.many}};
}

ordered_json JsonOf(const CommandWords& words);

template <typename Words>
ordered_json JsonOf(const std::vector<Words>& all) {
  ordered_json list = ordered_json::array();
  for (const Words& words : all) list.push_back(JsonOf(words));
  return list;
}

ordered_json JsonOf(const CommandWords& words) {
  return {{"command", CommandOf(words)},
          {"help", words.help},
          {"commands", words.commands},
          {"arguments", JsonOf(words.arguments)},
          {"options", JsonOf(words.options)}};
}

/// `table`: how the section of the key stands in a file.
ordered_json KeyOf(const ConfigRule& rule, const std::string& table) {
  const bool set = !std::holds_alternative<std::monostate>(rule.standard);
  return {{"table", table},
          {"key", rule.key},
          {"expects", Expectation(rule)},
          {"default", set ? ShortToml(rule.standard) : ""},
          {"example", rule.example},
          {"meaning", rule.meaning}};
}

std::string StreamTable(const std::string& section) {
  return section == "stream"
             ? "stream.NAME"
             : "stream.NAME" + section.substr(6) + (section == "stream.field" ? ".FIELD" : "");
}

ordered_json Keys() {
  ordered_json keys = ordered_json::array();
  for (const ConfigRule& rule : Schema().general) keys.push_back(KeyOf(rule, rule.section));
  ordered_json setting = KeyOf(Schema().setting, "settings");
  setting["key"] = "NAME";
  keys.push_back(std::move(setting));
  for (const ConfigRule& rule : Schema().stream)
    keys.push_back(KeyOf(rule, StreamTable(rule.section)));
  for (const ConfigRule& rule : Schema().hook) keys.push_back(KeyOf(rule, rule.section));
  return keys;
}

ordered_json ExampleNames() {
  ordered_json examples = ordered_json::array();
  for (const Example& example : Examples())
    examples.push_back({{"name", example.name}, {"summary", SummaryOf(example)}});
  return examples;
}

ordered_json Declarations() {
  CommandLine line;
  CLI::App app;
  AddCommands(&app, &line);
  return {{"exit_codes", kExitCodes},
          {"commands", JsonOf(CommandsIn(app))},
          {"keys", Keys()},
          {"examples", ExampleNames()}};
}

}  // namespace
}  // namespace murmurate

int main() { std::cout << murmurate::Declarations().dump(1) << '\n'; }
