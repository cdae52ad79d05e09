// An algorithm's name stands in its own file and in the list of them, and nowhere else in code or
// in texts that code prints: whatever differs between algorithms is a property of their kinds.
#include <gtest/gtest.h>

#include <cctype>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "server/learn/algorithms.h"
#include "tests/house/code_text.h"

namespace murmurate {
namespace {

/// Where a name may stand: of labels, two are in one file; a bench measures one algorithm.
bool MayName(const std::string& file, const std::string& name) {
  return file == "server/learn/algorithms.cc" || file.starts_with("server/measure/") ||
         file == "server/learn/" + name + ".cc" ||
         (file == "server/learn/labels.cc" && (name == "supervised" || name == "bc"));
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
  const std::vector<CodeFile> files = CodeFiles();
  for (const CodeFile& file : files) {
    const std::vector<std::string> here = NamesIn(file.name, file.text);
    found.insert(found.end(), here.begin(), here.end());
  }
  EXPECT_GT(files.size(), 400u);
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
