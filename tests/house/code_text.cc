#include "tests/house/code_text.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/source_file.h"

namespace murmurate {

namespace fs = std::filesystem;

std::vector<CodeFile> CodeFiles(const std::vector<std::string>& folders) {
  std::vector<CodeFile> files;
  for (const std::string& top : folders) {
    for (const auto& entry : fs::recursive_directory_iterator(SourceFile(top))) {
      const std::string extension = entry.path().extension();
      if (extension != ".h" && extension != ".cc") continue;
      std::ifstream stream(entry.path());
      std::ostringstream text;
      text << stream.rdbuf();
      files.push_back({fs::relative(entry.path(), SourceFile("")), text.str()});
    }
  }
  return files;
}

std::string WithoutComments(const std::string& code) {
  std::string kept;
  bool quoted = false, line = false, block = false;
  for (std::size_t i = 0; i < code.size(); ++i) {
    const char c = code[i];
    const char next = i + 1 < code.size() ? code[i + 1] : '\0';
    if (c == '\n') line = false;
    if (block && c == '*' && next == '/') {
      block = false;
      ++i;
      continue;
    }
    if (!quoted && !block && !line && c == '/' && next == '/') line = true;
    if (!quoted && !block && !line && c == '/' && next == '*') block = true;
    const bool comment = line || block;
    if (!comment && c == '"' && (i == 0 || code[i - 1] != '\\') && (i == 0 || code[i - 1] != '\''))
      quoted = !quoted;
    if (!quoted && c == '\n') quoted = false;
    if (!comment || c == '\n') kept += c;
  }
  return kept;
}

}  // namespace murmurate
