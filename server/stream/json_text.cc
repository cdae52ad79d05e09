#include "server/stream/json_text.h"

#include <cmath>

#include "server/metrics/utf8.h"

namespace murmurate {

void JsonText::AppendEscaped(unsigned char c) {
  static constexpr char kDigits[] = "0123456789abcdef";
  if (c == '"' || c == '\\') {
    text_ += '\\';
    text_ += static_cast<char>(c);
  } else {
    text_ += "\\u00";
    text_ += kDigits[c >> 4];
    text_ += kDigits[c & 15];
  }
}

void JsonText::Text(std::string_view text) {
  Separate();
  text_ += '"';
  while (!text.empty()) {
    const auto c = static_cast<unsigned char>(text[0]);
    const std::size_t length = Utf8Length(text);
    if (c < 0x20 || c == '"' || c == '\\') {
      AppendEscaped(c);
    } else if (length == 0) {
      text_ += "\xEF\xBF\xBD";
    } else {
      text_ += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  text_ += '"';
}

template <typename Value>
void JsonText::AppendNumber(Value value) {
  Separate();
  if (!std::isfinite(value)) {
    text_ += "null";
    return;
  }
  char written[32];
  text_.append(written, std::to_chars(written, written + sizeof written, value).ptr);
}

template void JsonText::AppendNumber(float value);
template void JsonText::AppendNumber(double value);

void JsonText::Time(std::int64_t time_ns, TimeForm form) {
  Separate();
  const bool quoted = form == TimeForm::kIso8601;
  if (quoted) text_ += '"';
  AppendTime(time_ns, form, &text_);
  if (quoted) text_ += '"';
}

}  // namespace murmurate
