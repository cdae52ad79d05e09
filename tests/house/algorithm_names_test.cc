// An algorithm's name stands in its own file and in the list of them, and nowhere else in code or
// in texts that code prints: whatever differs between algorithms is a property of their kinds.
#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "server/learn/algorithms.h"
#include "tests/source_file.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;

/// Where a name may stand: of labels, two are in one file.
bool MayName(const std::string& file, const std::string& name) {
  return file == "server/learn/algorithms.cc" || file == "server/learn/" + name + ".cc" ||
         (file == "server/learn/labels.cc" && (name == "supervised" || name == "bc"));
}

/// The same lines without what stands in comments. A // inside a string is kept.
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

/// "kImpalaRate x_bc" -> k impala rate x bc.
std::set<std::string> WordsOf(std::string_view text) {
  std::set<std::string> words;
  std::string word;
  const auto end = [&] {
    if (!word.empty()) words.insert(word);
    word.clear();
  };
  for (const char c : text) {
    const auto letter = static_cast<unsigned char>(c);
    if (std::isupper(letter) || !std::isalnum(letter)) end();
    if (std::isalnum(letter)) word += static_cast<char>(std::tolower(letter));
  }
  end();
  return words;
}

/// The network of that paper, which any algorithm may train.
std::string WithoutNetworks(std::string line) {
  for (const std::string_view network : {"impala_cnn", "ImpalaCnn"}) {
    for (std::size_t at; (at = line.find(network)) != std::string::npos;)
      line.erase(at, network.size());
  }
  return line;
}

std::vector<std::string> NamesIn(const std::string& file, const std::string& code) {
  std::vector<std::string> found;
  std::istringstream lines(WithoutComments(code));
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const std::set<std::string> words = WordsOf(WithoutNetworks(line));
    for (const std::string& name : AlgorithmNames())
      if (words.contains(name) && !MayName(file, name))
        found.push_back(file + ':' + std::to_string(number) + ": " + name);
  }
  return found;
}

TEST(AlgorithmNames, StandInTheirOwnFileAndInTheListAlone) {
  std::vector<std::string> found;
  int files = 0;
  for (const char* top : {"shared", "client", "server"}) {
    for (const auto& entry : fs::recursive_directory_iterator(SourceFile(top))) {
      const std::string extension = entry.path().extension();
      if (extension != ".h" && extension != ".cc") continue;
      std::ifstream stream(entry.path());
      std::ostringstream code;
      code << stream.rdbuf();
      const std::string file = fs::relative(entry.path(), SourceFile(""));
      const std::vector<std::string> here = NamesIn(file, code.str());
      found.insert(found.end(), here.begin(), here.end());
      ++files;
    }
  }
  EXPECT_GT(files, 400);
  EXPECT_TRUE(found.empty()) << found.size() << " places name an algorithm, the first at "
                             << found.front() << "; ask a property of its AlgorithmKind";
}

TEST(AlgorithmNames, AreSeenInCodeAndStringsAndNotInComments) {
  EXPECT_EQ(
      NamesIn("a.cc", "switch (kPpo) {}\n\"write bc\" // impala\n/* a2c\n */ x = ppo_rate;\n"),
      (std::vector<std::string>{"a.cc:1: ppo", "a.cc:2: bc", "a.cc:4: ppo"}));
  EXPECT_TRUE(NamesIn("a.cc", "\"impala_cnn\", bcd, ppox").empty());
  EXPECT_TRUE(NamesIn("server/learn/impala.cc", "\"impala\"").empty());
  EXPECT_EQ(NamesIn("server/learn/impala.cc", "\"http://x\", ppo").size(), 1u);
}

}  // namespace
}  // namespace murmurate
