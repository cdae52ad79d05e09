#include "tests/pages/page_commands.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <regex>

#include "tests/pages/command_check.h"
#include "tests/source_file.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;

/// Calls `visit` with each line, its number, and the language of the block that it is in ("text":
/// of a block that names none; "": it is in none).
void VisitLines(std::istream& text, const std::function<void(const std::string& line, int number,
                                                             const std::string& language)>& visit) {
  std::string language;
  int number = 0;
  for (std::string line; std::getline(text, line);) {
    ++number;
    if (line.starts_with("```")) {
      const std::string after = line.substr(3);
      language = !language.empty() ? "" : after.empty() ? "text" : after;
    } else {
      visit(line, number, language);
    }
  }
}

/// How many loops a line begins, less those that it ends.
int LoopsOpened(const std::string& line) {
  static const std::regex kBegins(R"((^|[;&|] *)(for|while) )"), kEnds(R"((^|[;& ])done\b)");
  const auto count = [&](const std::regex& words) {
    return std::distance(std::sregex_iterator(line.begin(), line.end(), words),
                         std::sregex_iterator());
  };
  return static_cast<int>(count(kBegins) - count(kEnds));
}

std::vector<fs::path> Documents() {
  std::vector<fs::path> documents = {SourceFile("python/README.md")};
  for (const auto& entry : fs::directory_iterator(SourceFile("")))
    if (entry.path().extension() == ".md") documents.push_back(entry.path());
  for (const char* folder : {"docs", "schemas", "examples", "packaging"})
    for (const auto& entry : fs::recursive_directory_iterator(SourceFile(folder)))
      if (entry.path().extension() == ".md") documents.push_back(entry.path());
  std::ranges::sort(documents);
  return documents;
}

/// As a regular expression has it.
std::string OneOf(const std::vector<std::string>& words) {
  std::string one;
  for (const std::string& word : words) one += (one.empty() ? "" : "|") + word;
  return one;
}

}  // namespace

std::string Normalized(const std::string& line) {
  std::string text;
  char quote = 0;
  for (const char c : line) {
    if (quote == 0 && c == '#' && (text.empty() || text.back() == ' ')) break;
    if (c == quote) {
      quote = 0;
    } else if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    }
    if (quote == 0 && c == ' ' && (text.empty() || text.back() == ' ')) continue;
    text += c;
  }
  while (text.ends_with(' ')) text.pop_back();
  return text;
}

std::vector<PageCommand> BlockCommandsIn(const std::string& page, std::istream& text) {
  std::vector<PageCommand> commands;
  int open = 0;
  bool goes_on = false;  // in the next line
  VisitLines(text, [&](const std::string& line, int number, const std::string& language) {
    const std::string command = Normalized(line);
    if (language != "sh" || command.empty()) return;
    if (goes_on || open > 0) {
      std::string& begun = commands.back().text;
      if (goes_on) begun.pop_back();
      begun += (goes_on ? "" : begun.ends_with(" do") ? " " : "; ") + command;
    } else {
      commands.push_back({page, number, command});
    }
    open += LoopsOpened(command);
    goes_on = command.ends_with('\\');
  });
  return commands;
}

std::vector<PageCommand> SpanCommandsIn(const std::string& page, std::istream& text) {
  static const std::regex kSpan(
      "`((MURMURATE_[A-Z_]+=[^ `]+ )*(murmurate|python3?|sudo|scripts/[^ `]+|[.]/(run|test)) "
      "[^`]*)`");
  std::vector<PageCommand> commands;
  VisitLines(text, [&](const std::string& line, int number, const std::string& language) {
    if (!language.empty()) return;
    for (std::sregex_iterator span(line.begin(), line.end(), kSpan), end; span != end; ++span)
      commands.push_back({page, number, Normalized((*span)[1])});
  });
  return commands;
}

std::vector<PageCommand> HiddenCommandsIn(const std::string& page, std::istream& text) {
  static const std::regex kCommand(
      "^(murmurate (" + OneOf(CommandNames()) +
      ")\\b|[.]/(run|test)\\b|scripts/|examples/|build/|"
      "(cmake|ctest|pip|python3?|sudo|apt|gcc|g[+][+]|cc|mosquitto_pub|docker|systemctl) ).*");
  std::vector<PageCommand> commands;
  VisitLines(text, [&](const std::string& line, int number, const std::string& language) {
    if (language == "text" && std::regex_match(line, kCommand))
      commands.push_back({page, number, Normalized(line)});
  });
  return commands;
}

std::vector<PageCommand> OfAllPages(ReadCommands* read) {
  std::vector<PageCommand> all;
  for (const fs::path& document : Documents()) {
    std::ifstream text(document);
    const auto commands = read(fs::relative(document, SourceFile("")), text);
    all.insert(all.end(), commands.begin(), commands.end());
  }
  return all;
}

}  // namespace murmurate
