// JsonText: JSON behind a text, without a document; the caller balances what it opens. Control
// characters, quotes and backslashes are escaped, bytes that are no UTF-8 become U+FFFD.
#pragma once

#include <charconv>
#include <concepts>
#include <string>
#include <string_view>

#include "server/stream/time_text.h"

namespace murmurate {

class JsonText {
 public:
  explicit JsonText(std::string* text) : text_(*text) {}

  void Open(char bracket) {  ///< '{' or '['
    Separate();
    text_ += bracket;
    first_ = true;
  }
  void Close(char bracket) {
    text_ += bracket;
    first_ = false;
  }
  void Key(std::string_view key) {
    Text(key);
    text_ += ':';
    first_ = true;
  }
  void Text(std::string_view text);
  /// The fewest digits that read back as the same number; null when it is not finite.
  void Number(float value) { AppendNumber(value); }
  void Number(double value) { AppendNumber(value); }
  void Number(std::uint64_t value) {
    Separate();
    char written[20];
    text_.append(written, std::to_chars(written, written + sizeof written, value).ptr);
  }
  void Flag(bool value) {
    Separate();
    text_ += value ? "true" : "false";
  }
  void Time(std::int64_t time_ns, TimeForm form);

 private:
  void Separate() {
    if (!first_) text_ += ',';
    first_ = false;
  }
  template <typename Value>
  void AppendNumber(Value value);
  void AppendEscaped(unsigned char c);

  std::string& text_;
  bool first_ = true;  ///< what comes needs no comma before it
};

}  // namespace murmurate
