// A path that a document names exists: `server/learn/returns.h`, [text](docs/results.md).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/source_file.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 10> kTops = {"server", "client",   "shared",  "tests",
                                                    "docs",   "examples", "scripts", "bench",
                                                    "python", "schemas"};

/// The parts of `text` between `begin` and `end`.
std::vector<std::string> Between(const std::string& text, std::string_view begin, char end) {
  std::vector<std::string> parts;
  for (std::size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at)) {
    at += begin.size();
    const std::size_t to = text.find(end, at);
    if (to == std::string::npos) break;
    parts.push_back(text.substr(at, to - at));
    at = to + 1;
  }
  return parts;
}

bool IsPath(const std::string& text) {
  const auto is_top = [&](std::string_view top) {
    return text.size() > top.size() && text.starts_with(top) && text[top.size()] == '/';
  };
  return std::any_of(kTops.begin(), kTops.end(), is_top) &&
         text.find_first_of(" \n*{}<>") == std::string::npos;
}

/// The paths of a document's text, in code spans and in links that stay in the tree.
std::vector<std::string> PathsIn(const std::string& text) {
  std::vector<std::string> paths;
  for (const std::string& span : Between(text, "`", '`'))
    if (IsPath(span)) paths.push_back(span);
  for (const std::string& link : Between(text, "](", ')'))
    if (link.find_first_of(":#") == std::string::npos) paths.push_back(link);
  return paths;
}

/// Code that stands between lines of three backticks is left out.
std::string WithoutBlocks(std::istream& stream) {
  std::string text;
  bool inside = false;
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with("```")) {
      inside = !inside;
    } else if (!inside) {
      text += line + '\n';
    }
  }
  return text;
}

std::vector<fs::path> Documents() {
  std::vector<fs::path> documents;
  for (const auto& entry : fs::directory_iterator(SourceFile("")))
    if (entry.path().extension() == ".md") documents.push_back(entry.path());
  for (const char* folder : {"docs", "schemas", "examples"})
    for (const auto& entry : fs::recursive_directory_iterator(SourceFile(folder)))
      if (entry.path().extension() == ".md") documents.push_back(entry.path());
  documents.emplace_back(SourceFile("python/README.md"));
  return documents;
}

TEST(DocumentPaths, OfEveryDocumentExist) {
  std::size_t count = 0;
  for (const fs::path& document : Documents()) {
    std::ifstream stream(document);
    for (const std::string& path : PathsIn(WithoutBlocks(stream))) {
      ++count;
      EXPECT_TRUE(fs::exists(SourceFile(path)) || fs::exists(document.parent_path() / path))
          << document << " names " << path << ", which does not exist";
    }
  }
  EXPECT_GT(count, 80u) << "the documents were not read";
}

/// The anchor of a heading, as Markdown readers make it.
std::string AnchorOf(const std::string& heading) {
  std::string anchor;
  for (const char c : heading) {
    if (c == ' ' || c == '-') anchor += '-';
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '_')
      anchor += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return anchor;
}

std::vector<std::string> AnchorsIn(const fs::path& document) {
  std::ifstream stream(document);
  std::istringstream lines(WithoutBlocks(stream));
  std::vector<std::string> anchors;
  for (std::string line; std::getline(lines, line);)
    if (const std::size_t at = line.find_first_not_of('#'); at > 0 && at < line.size())
      if (line[at] == ' ') anchors.push_back(AnchorOf(line.substr(at + 1)));
  return anchors;
}

TEST(DocumentPaths, SectionsThatALinkNamesAreInTheirDocument) {
  std::size_t count = 0;
  for (const fs::path& document : Documents()) {
    std::ifstream stream(document);
    for (const std::string& link : Between(WithoutBlocks(stream), "](", ')')) {
      const std::size_t at = link.find('#');
      if (at == std::string::npos || link.find(':') != std::string::npos) continue;
      ++count;
      const fs::path target = at == 0 ? document : document.parent_path() / link.substr(0, at);
      const auto anchors = AnchorsIn(target);
      EXPECT_NE(std::find(anchors.begin(), anchors.end(), link.substr(at + 1)), anchors.end())
          << document << " names " << link << ", a section which does not exist";
    }
  }
  EXPECT_GT(count, 20u) << "the documents were not read";
}

TEST(DocumentPaths, AreCodeSpansOfTheTreeAndLinksIntoIt) {
  std::istringstream text(
      "`docs/a.md` `runs/x` `server/*.cc` [b](docs/b.md) [c](https://c.d) [e](#e)\n"
      "```\n`docs/f.md`\n```\n`client/g.h`\n");
  EXPECT_EQ(PathsIn(WithoutBlocks(text)),
            (std::vector<std::string>{"docs/a.md", "client/g.h", "docs/b.md"}));
}

}  // namespace
}  // namespace murmurate
