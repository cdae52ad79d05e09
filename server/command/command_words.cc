#include "server/command/command_words.h"

#include <algorithm>

namespace murmurate {
namespace {

std::vector<std::string> Split(const std::string& text, char between) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(between, at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

/// The words of "TEXT:{bash,zsh}" and of "never|credit".
std::vector<std::string> ChoicesIn(const std::string& type) {
  const std::size_t open = type.find('{'), close = type.find('}');
  if (open != type.npos && close != type.npos && open < close)
    return Split(type.substr(open + 1, close - open - 1), ',');
  return type.find('|') == type.npos ? std::vector<std::string>() : Split(type, '|');
}

/// "INT" of "INT:INT in [1 - 4096]" and of "INT ...".
std::string KindOf(const std::string& type) { return type.substr(0, type.find_first_of(":{ ")); }

OptionWords OptionOf(const CLI::Option& option) {
  OptionWords words;
  for (const std::string& name : option.get_snames()) words.names.push_back('-' + name);
  for (const std::string& name : option.get_lnames()) words.names.push_back("--" + name);
  words.help = option.get_description();
  if (option.get_items_expected_max() == 0) return words;
  const std::string type = option.get_type_name();
  words.choices = ChoicesIn(type);
  words.value = KindOf(type);
  if (words.value.empty()) words.value = "VALUE";
  return words;
}

ArgumentWords ArgumentOf(const CLI::Option& option) {
  return {option.get_name(true), option.get_description(), ChoicesIn(option.get_type_name()),
          option.get_required(), option.get_items_expected_max() > 1};
}

void AddWords(const CLI::App& app, const std::string& path, std::vector<CommandWords>* all) {
  CommandWords words{path, app.get_description(), {}, {}, {}};
  for (const CLI::Option* option : app.get_options()) {
    const bool named = !option->get_lnames().empty() || !option->get_snames().empty();
    if (named) words.options.push_back(OptionOf(*option));
    if (!named && option->get_positional()) words.arguments.push_back(ArgumentOf(*option));
  }
  const auto below = app.get_subcommands([](const CLI::App*) { return true; });
  for (const CLI::App* command : below) words.commands.push_back(command->get_name());
  all->push_back(std::move(words));
  for (const CLI::App* command : below)
    AddWords(*command, path + (path.empty() ? "" : " ") + command->get_name(), all);
}

}  // namespace

std::vector<CommandWords> CommandsIn(const CLI::App& app) {
  std::vector<CommandWords> all;
  AddWords(app, "", &all);
  return all;
}

std::vector<OptionWords> CommonOptions(const CommandWords& program) {
  std::vector<OptionWords> common;
  for (const OptionWords& option : program.options)
    if (option.names.back() != "--help" && option.names.back() != "--version")
      common.push_back(option);
  return common;
}

std::string CommandOf(const CommandWords& words) {
  return "murmurate" + (words.path.empty() ? "" : ' ' + words.path);
}

}  // namespace murmurate
