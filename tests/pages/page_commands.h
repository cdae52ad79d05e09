// The commands that the documents show: lines of their blocks of sh, and code spans that begin with
// `murmurate`.
#pragma once

#include <istream>
#include <string>
#include <vector>

namespace murmurate {

struct PageCommand {
  std::string page;  ///< its path in the tree
  int line = 0;      ///< where it begins
  std::string text;  ///< without its comment; runs of spaces are one
};

/// Of the blocks of a page that begin with ```sh: each line; a loop over several lines, and a
/// line that goes on behind a backslash, as one.
std::vector<PageCommand> BlockCommandsIn(const std::string& page, std::istream& text);
/// The code spans outside of blocks that are command lines: those of murmurate, Python, sudo, and of
/// scripts of the tree.
std::vector<PageCommand> SpanCommandsIn(const std::string& page, std::istream& text);
/// Lines that look like commands in blocks that do not say that they are sh.
std::vector<PageCommand> HiddenCommandsIn(const std::string& page, std::istream& text);

/// Of every document in the tree.
using ReadCommands = std::vector<PageCommand>(const std::string& page, std::istream& text);
std::vector<PageCommand> OfAllPages(ReadCommands* read);

/// The text as PageCommand has it.
std::string Normalized(const std::string& line);

using Words = std::vector<std::string>;
/// What a shell runs of a line: the words of each command, also of those inside $(...), <(...) and
/// `sh -c`. Assignments before a command and the words of loops are left out; a variable is "1".
std::vector<Words> ShellCommands(const std::string& line);

}  // namespace murmurate
