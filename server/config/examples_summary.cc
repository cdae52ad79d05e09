#include <algorithm>
#include <sstream>

#include "server/config/examples.h"

namespace murmurate {
namespace {

/// The first ". " before a capital letter, which "et al. 2012" is not.
std::size_t EndOfSentence(const std::string& text) {
  std::size_t at = text.find(". ");
  while (at != text.npos && (at + 2 == text.size() || text[at + 2] < 'A' || text[at + 2] > 'Z'))
    at = text.find(". ", at + 1);
  return at;
}

}  // namespace

std::string SummaryOf(const Example& example) {
  std::istringstream lines(example.text);
  std::string line, comment;
  while (std::getline(lines, line) && line.starts_with("# ") && !line.starts_with("#   "))
    comment += (comment.empty() ? "" : " ") + line.substr(2);
  comment = comment.substr(0, std::min(comment.find("  "), EndOfSentence(comment)));
  while (comment.ends_with(':') || comment.ends_with('.')) comment.pop_back();
  return comment;
}

}  // namespace murmurate
