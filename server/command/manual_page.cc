// Manual pages in the man macros of troff (man(7), groff_char(7)).
#include <algorithm>
#include <cctype>

#include "server/command/command_words.h"
#include "server/daemon/version.h"

namespace murmurate {
namespace {

/// Text as troff prints it: no request, no escape, '-' as typed.
std::string Escaped(const std::string& text) {
  std::string escaped;
  bool begins_line = true;
  for (const char c : text) {
    if (begins_line && (c == '.' || c == '\'')) escaped += "\\&";
    begins_line = c == '\n';
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else if (c == '`') {
      escaped += "\\(ga";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

/// Lines of at most 78 characters, broken at spaces; troff fills them again.
std::string Wrapped(const std::string& text) {
  std::string wrapped, word;
  std::size_t column = 0;
  const auto put = [&](char after) {
    if (column > 0 && column + 1 + word.size() > 78) {
      wrapped += '\n';
      column = 0;
    } else if (column > 0) {
      wrapped += ' ';
      ++column;
    }
    if (column == 0 && (word.starts_with('.') || word.starts_with('\''))) wrapped += "\\&";
    wrapped += word;
    column += word.size();
    word.clear();
    if (after == '\n') wrapped += '\n';
    if (after == '\n') column = 0;
  };
  for (const char c : Escaped(text)) {
    if (c == ' ' || c == '\n') {
      if (!word.empty()) put(c);
    } else {
      word += c;
    }
  }
  if (!word.empty()) put('\0');
  return wrapped;
}

std::string Bold(const std::string& text) { return "\\fB" + Escaped(text) + "\\fR"; }
std::string Italic(const std::string& text) { return "\\fI" + Escaped(text) + "\\fR"; }

/// The words of an entry, and its text below it.
std::string Entry(const std::string& words, const std::string& text) {
  return ".TP\n" + words + '\n' + Wrapped(text) + '\n';
}

std::string Capitals(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

std::string Synopsis(const CommandWords& words) {
  std::string text = Bold(CommandOf(words));
  if (!words.options.empty()) text += " [" + Italic("OPTIONS") + ']';
  if (!words.commands.empty()) text += ' ' + Italic("COMMAND");
  for (const ArgumentWords& argument : words.arguments) {
    const std::string name = Italic(argument.name) + (argument.many ? " ..." : "");
    text += argument.required ? ' ' + name : " [" + name + ']';
  }
  return ".SH SYNOPSIS\n" + text + '\n';
}

std::string Options(const std::vector<OptionWords>& options) {
  std::string text;
  for (const OptionWords& option : options) {
    std::string names;
    for (const std::string& name : option.names) names += (names.empty() ? "" : ", ") + Bold(name);
    if (!option.value.empty()) names += ' ' + Italic(option.value);
    std::string help = option.help;
    for (const std::string& choice : option.choices)
      help += (&choice == &option.choices.front() ? " (" : ", ") + choice;
    if (!option.choices.empty()) help += ')';
    text += Entry(names, help);
  }
  return text;
}

constexpr char kFiles[] = R"(.SH ENVIRONMENT
.TP
\fBMURMURATE_\fISECTION\fB__\fIKEY\fR
Sets a key of the config, as \fB\-\-set\fR does, which holds over it.
.TP
\fBXDG_RUNTIME_DIR\fR
Where the sockets of live learners lie.
.SH FILES
.TP
\fIruns/NAME/\fR
The folder of a run: its config, log, progress, curves and checkpoints.
.SH SIGNALS
.TP
\fBSIGINT\fR, \fBSIGTERM\fR
End a learner cleanly; a second one ends it at once.
.TP
\fBSIGHUP\fR
Makes \fBmurmurate serve\fR read its config again.
)";

const CommandWords* Find(const std::vector<CommandWords>& all, const std::string& path) {
  const auto found = std::ranges::find(all, path, &CommandWords::path);
  return found == all.end() ? nullptr : &*found;
}

std::string Commands(const std::vector<CommandWords>& all, const CommandWords& words) {
  std::string text = ".SH COMMANDS\n";
  for (const std::string& command : words.commands) {
    const CommandWords* below = Find(all, words.path + (words.path.empty() ? "" : " ") + command);
    text += Entry(Bold(command), below->help + "; see " + ManualName(*below) + "(1)");
  }
  return text;
}

/// The page of the command above it, and of the program.
std::string SeeAlso(const CommandWords& words) {
  const std::size_t space = words.path.rfind(' ');
  std::string text = ".SH SEE ALSO\n.BR murmurate (1)";
  if (space != words.path.npos) {
    CommandWords above;
    above.path = words.path.substr(0, space);
    text += ",\n.BR " + Escaped(ManualName(above)) + " (1)";
  }
  return text + '\n';
}

/// A page's title in one line: what follows the first sentence is its description.
std::string Title(const std::string& help) {
  std::string title = help.substr(0, help.find('\n'));
  if (title.starts_with("murmurate: ")) title = title.substr(11);
  if (title.ends_with('.')) title.pop_back();
  return title;
}

}  // namespace

std::string ManualName(const CommandWords& words) {
  std::string name = CommandOf(words);
  std::ranges::replace(name, ' ', '-');
  return name;
}

std::string ManualPage(const std::vector<CommandWords>& all, std::size_t index,
                       const std::string& date) {
  const CommandWords& words = all[index];
  const bool program = words.path.empty();
  const std::string name = ManualName(words);
  std::string page = ".TH " + Escaped(Capitals(name)) + " 1 " + date + " \"" +
                     Escaped(VersionLine()) + "\" \"murmurate\"\n.SH NAME\n" + Escaped(name) +
                     " \\- " + Escaped(Title(words.help)) + '\n' + Synopsis(words) +
                     ".SH DESCRIPTION\n" + Wrapped(words.help) + '\n';
  if (!words.commands.empty()) page += Commands(all, words);
  if (!words.arguments.empty()) page += ".SH ARGUMENTS\n";
  for (const ArgumentWords& argument : words.arguments)
    page += Entry(Italic(argument.name), argument.help);
  page += ".SH OPTIONS\n" + Options(words.options);
  if (!program) page += Options(CommonOptions(all.front()));
  page += std::string(".SH EXIT STATUS\n") + kExitCodes + '\n';
  return page + (program ? kFiles : SeeAlso(words));
}

}  // namespace murmurate
