// docs/troubleshooting.md quotes messages; each is still what the sources say.
//
//   > another program listens on *tcp://127.0.0.1:17431*: stop it
//
// A quote is a line that begins with "> ". What is *slanted* differs from time to time; every other
// part of the line stands, word for word, in a text of some source file, or is put together of the
// end of one text, whole texts and the begin of another.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/source_file.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;

std::string ReadAll(const std::string& path) {
  std::ifstream stream(path);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

bool IsSpace(char c) { return c == ' ' || c == '\n' || c == '\t'; }

/// The texts in C++: what stands between quotes, pieces that only white space parts being one, and
/// a line end between any two others.
std::string TextsOf(const std::string& source) {
  std::string texts;
  bool inside = false;
  for (std::size_t i = 0; i < source.size(); ++i) {
    const char c = source[i];
    if (inside && c == '\\' && i + 1 < source.size()) {
      texts += source[++i] == 'n' ? ' ' : source[i];
    } else if (c == '"') {
      inside = !inside;
    } else if (inside) {
      texts += c;
    } else if (c == '\'' && i + 2 < source.size() && source[i + 2] == '\'') {
      i += 2;  // '"'
    } else if (c == '/' && i + 1 < source.size() && source[i + 1] == '/') {
      i = std::min(source.find('\n', i), source.size());
    } else if (!IsSpace(c) && !texts.ends_with('\n')) {
      texts += '\n';
    }
  }
  return texts;
}

std::string TextsOfAllSources() {
  std::string texts;
  for (const char* top : {"shared", "client", "server"}) {
    for (const auto& entry : fs::recursive_directory_iterator(SourceFile(top))) {
      const std::string extension = entry.path().extension();
      if (extension == ".cc" || extension == ".h") texts += TextsOf(ReadAll(entry.path())) + '\n';
    }
  }
  return texts;
}

/// The parts of a quote that are not slanted, without the blanks and lone signs between slanted
/// ones. A backslash keeps Markdown from taking the sign behind it for its own.
std::vector<std::string> FixedParts(std::string quote) {
  std::erase(quote, '\\');
  std::vector<std::string> parts;
  std::stringstream stream(quote);
  std::string part;
  for (bool fixed = true; std::getline(stream, part, '*'); fixed = !fixed) {
    if (fixed && part.size() > 2) parts.push_back(part);
  }
  return parts;
}

struct Page {
  std::vector<std::string> quotes, from_c;
};

Page ReadPage() {
  Page page;
  bool c = false;
  std::ifstream stream(SourceFile("docs/troubleshooting.md"));
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with("## ")) c = line == "## From C";
    if (line.starts_with("> ")) (c ? page.from_c : page.quotes).push_back(line.substr(2));
  }
  return page;
}

/// `texts` as TextsOf gives them. `from_begin`: the part begins where a text does.
bool IsSaid(const std::string& part, const std::string& texts, bool from_begin = false) {
  const std::string begin = from_begin ? "\n" : "";
  if (texts.find(begin + part) != std::string::npos) return true;
  for (std::size_t size = part.size() - 1; size > 0; --size) {
    const std::string piece = part.substr(0, size);
    const bool has_words =
        std::ranges::any_of(piece, [](unsigned char c) { return std::isalpha(c); });
    if (has_words && size < 4) continue;  // short words are everywhere
    if (texts.find(begin + piece + '\n') != std::string::npos &&
        IsSaid(part.substr(size), texts, true))
      return true;
  }
  return false;
}

void ExpectAllAreSaid(const std::vector<std::string>& quotes) {
  const std::string texts = TextsOfAllSources();
  for (const std::string& quote : quotes) {
    const auto parts = FixedParts(quote);
    EXPECT_FALSE(parts.empty()) << "nothing of it is fixed: " << quote;
    for (const std::string& part : parts) {
      EXPECT_TRUE(IsSaid(part, texts))
          << "no source says \"" << part << "\"; correct docs/troubleshooting.md: " << quote;
    }
  }
}

TEST(Troubleshooting, EveryQuotedMessageIsStillInTheSources) {
  const Page page = ReadPage();
  EXPECT_GT(page.quotes.size(), 35u) << "the page was not read";
  ExpectAllAreSaid(page.quotes);
}

TEST(Troubleshooting, EveryQuotedMessageOfTheCLibraryIsStillInTheSources) {
  const Page page = ReadPage();
  EXPECT_GT(page.from_c.size(), 4u) << "the page was not read";
  ExpectAllAreSaid(page.from_c);
}

TEST(Troubleshooting, AMessageIsPutTogetherOfTextsAndOfNothingElse) {
  const std::string texts = TextsOf("f(\"cannot open \" + path, \": check it; \" + \"or go on\")");
  EXPECT_TRUE(IsSaid("open ", texts));
  EXPECT_TRUE(IsSaid(": check it; or go", texts));
  EXPECT_FALSE(IsSaid(": check it or go", texts));
  EXPECT_FALSE(IsSaid(": check; or go", texts));
  EXPECT_FALSE(IsSaid("check it; go on", texts));
}

TEST(Troubleshooting, PiecesOfATextAreOneAndTextsAreApart) {
  EXPECT_EQ(TextsOf("f(\"a \"\n   \"b\", c + \"d \\\"e\\\"\");  // \"g\"\n"), "\na b\nd \"e\"\n");
}

TEST(Troubleshooting, WhatIsSlantedIsNotLookedFor) {
  EXPECT_EQ(FixedParts("*runs/x*: holds *2* of them, see \\`ls *runs*\\`"),
            (std::vector<std::string>{": holds ", " of them, see `ls "}));
}

}  // namespace
}  // namespace murmurate
