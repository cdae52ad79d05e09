// The words of a shell line, as far as the documents' commands need it.
#include <algorithm>
#include <cctype>

#include "tests/pages/page_commands.h"

namespace murmurate {
namespace {

class Splitter {
 public:
  explicit Splitter(const std::string& line) : line_(line) {}

  std::vector<Words> Commands() {
    while (at_ < line_.size()) Step();
    EndCommand();
    return std::move(commands_);
  }

 private:
  char Ahead(std::size_t by) const { return at_ + by < line_.size() ? line_[at_ + by] : '\0'; }

  void Step() {
    const char c = line_[at_];
    if (c == '\'' || c == '"') {
      Quoted(c);
    } else if ((c == '$' || c == '<') && Ahead(1) == '(') {
      Nested();
    } else if (c == '$') {
      Variable();
    } else if (c == ' ') {
      EndWord();
      ++at_;
    } else if (c == ';' || c == '|' || (c == '&' && !word_.ends_with('>'))) {
      EndCommand();
      ++at_;
    } else {
      begun_ = true;
      word_ += c;
      ++at_;
    }
  }

  void Quoted(char quote) {
    begun_ = true;
    for (++at_; at_ < line_.size() && line_[at_] != quote;) {
      if (quote == '"' && line_[at_] == '$' && Ahead(1) == '(') {
        Nested();
      } else if (line_[at_] == '$') {
        Variable();
      } else {
        word_ += line_[at_++];
      }
    }
    ++at_;
  }

  /// What stands in $(...) runs, too.
  void Nested() {
    std::size_t end = at_ + 2;
    for (int depth = 1; end < line_.size() && depth > 0; ++end)
      depth += line_[end] == '(' ? 1 : line_[end] == ')' ? -1 : 0;
    Add(ShellCommands(line_.substr(at_ + 2, end - at_ - 3)));
    begun_ = true;
    word_ += '1';
    at_ = end;
  }

  void Variable() {
    begun_ = true;
    word_ += '1';
    ++at_;
    while (std::isalnum(static_cast<unsigned char>(Ahead(0))) || Ahead(0) == '_' ||
           Ahead(0) == '{' || Ahead(0) == '}')
      ++at_;
  }

  void EndWord() {
    if (begun_) words_.push_back(word_);
    word_.clear();
    begun_ = false;
  }

  static bool IsBefore(const std::string& word) {
    const std::size_t equals = word.find('=');
    const auto is_name = [](unsigned char c) { return std::isalnum(c) || c == '_'; };
    return word == "do" || word == "done" || word == "exec" ||
           (equals != word.npos && equals > 0 &&
            std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(equals), is_name));
  }

  void EndCommand() {
    EndWord();
    while (!words_.empty() && IsBefore(words_.front())) words_.erase(words_.begin());
    if (!words_.empty() && words_.front() != "for") commands_.push_back(words_);
    for (std::size_t i = 2; i < words_.size(); ++i)
      if (words_[i - 1] == "-c" && words_[i - 2].ends_with("sh")) Add(ShellCommands(words_[i]));
    words_.clear();
  }

  void Add(const std::vector<Words>& more) {
    commands_.insert(commands_.end(), more.begin(), more.end());
  }

  const std::string& line_;
  std::size_t at_ = 0;
  bool begun_ = false;  ///< a word is, perhaps an empty one
  std::string word_;
  Words words_;
  std::vector<Words> commands_;
};

}  // namespace

std::vector<Words> ShellCommands(const std::string& line) { return Splitter(line).Commands(); }

}  // namespace murmurate
