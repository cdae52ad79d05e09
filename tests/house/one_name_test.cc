// One name, one class. Two classes of one name in one namespace, in two headers of a program, are one
// to the linker: it keeps the destructor of either for both.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "tests/house/code_text.h"

namespace murmurate {
namespace {

/// Of each class that a header defines in namespace murmurate itself: the headers that do.
std::map<std::string, std::set<std::string>> HeadersOfClasses() {
  static const std::regex kClass(
      R"(^(?:class|struct)(?: \[\[nodiscard\]\])? (\w+)(?: final)?(?: :.*)?(?: \{.*)?$)");
  std::map<std::string, std::set<std::string>> headers;
  for (const CodeFile& file : CodeFiles()) {
    if (!file.name.ends_with(".h")) continue;
    std::istringstream lines(WithoutComments(file.text));
    bool here = false;
    std::smatch found;
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("namespace ")) here = line == "namespace murmurate {";
      if (here && std::regex_match(line, found, kClass)) headers[found[1]].insert(file.name);
    }
  }
  return headers;
}

TEST(OneName, NoTwoHeadersDefineAClassOfOneName) {
  const auto headers = HeadersOfClasses();
  EXPECT_GT(headers.size(), 500u) << "classes are not found any more";
  for (const auto& [name, files] : headers) {
    std::string where;
    for (const std::string& file : files) where += "\n  " + file;
    EXPECT_EQ(files.size(), 1u) << name << " is defined in" << where;
  }
}

}  // namespace
}  // namespace murmurate
