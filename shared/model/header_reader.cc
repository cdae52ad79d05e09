#include "shared/model/header_reader.h"

#include <charconv>

#include "shared/core/check.h"
#include "shared/model/text.h"

namespace murmurate {
namespace {

constexpr std::size_t kMaxNameBytes = 1024;
constexpr std::size_t kMaxDimensions = 8;

void AppendUtf8(std::uint32_t code, std::string* out) {
  const auto byte = [out](std::uint32_t value) { out->push_back(static_cast<char>(value)); };
  if (code < 0x80) {
    byte(code);
  } else if (code < 0x800) {
    byte(0xc0 | code >> 6);
    byte(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    byte(0xe0 | code >> 12);
    byte(0x80 | (code >> 6 & 0x3f));
    byte(0x80 | (code & 0x3f));
  } else {
    byte(0xf0 | code >> 18);
    byte(0x80 | (code >> 12 & 0x3f));
    byte(0x80 | (code >> 6 & 0x3f));
    byte(0x80 | (code & 0x3f));
  }
}

}  // namespace

Status HeaderReader::Fail(const std::string& expected) const {
  return InvalidData("the safetensors header has " + Quote(text_.substr(at_, 16)) + " at byte " +
                     std::to_string(at_) + " where " + expected + " was expected");
}

void HeaderReader::SkipSpace() {
  while (at_ < text_.size() &&
         std::string_view(" \n\t\r").find(text_[at_]) != std::string_view::npos) {
    ++at_;
  }
}

bool HeaderReader::Consume(char expected) {
  SkipSpace();
  if (at_ >= text_.size() || text_[at_] != expected) return false;
  ++at_;
  return true;
}

Status HeaderReader::ReadSeparator(char bracket, bool* more) {
  *more = Consume(',');
  if (!*more && !Consume(bracket)) return Fail(std::string("',' or '") + bracket + "'");
  return Status();
}

Status HeaderReader::Read(std::vector<HeaderTensor>* tensors,
                          std::map<std::string, std::string>* metadata) {
  if (text_.empty() || text_[0] != '{') return Fail("'{'");
  at_ = 1;
  bool more = !Consume('}');
  bool metadata_read = false;
  while (more) {
    HeaderTensor tensor;
    MURMURATE_RETURN_IF_ERROR(ReadString(&tensor.name, kMaxNameBytes));
    if (!Consume(':')) return Fail("':'");
    if (tensor.name == "__metadata__") {
      if (metadata_read) return Fail("only one \"__metadata__\"");
      metadata_read = true;
      MURMURATE_RETURN_IF_ERROR(ReadMetadata(metadata));
    } else {
      MURMURATE_RETURN_IF_ERROR(ReadTensor(&tensor));
      tensors->push_back(std::move(tensor));
    }
    MURMURATE_RETURN_IF_ERROR(ReadSeparator('}', &more));
  }
  SkipSpace();
  return at_ == text_.size() ? Status() : Fail("the end");
}

Status HeaderReader::ReadMetadata(std::map<std::string, std::string>* metadata) {
  if (!Consume('{')) return Fail("'{' after \"__metadata__\"");
  bool more = !Consume('}');
  while (more) {
    std::string key, value;
    MURMURATE_RETURN_IF_ERROR(ReadString(&key, kMaxNameBytes));
    if (!Consume(':')) return Fail("':'");
    MURMURATE_RETURN_IF_ERROR(ReadString(&value, text_.size()));
    if (!metadata->emplace(key, std::move(value)).second) {
      return Fail("metadata " + Quote(key) + " only once");
    }
    MURMURATE_RETURN_IF_ERROR(ReadSeparator('}', &more));
  }
  return Status();
}

Status HeaderReader::ReadTensor(HeaderTensor* tensor) {
  const auto fail = [&](const Status& status) {
    return InvalidData("tensor " + Quote(tensor->name) + ": " + status.message());
  };
  if (!Consume('{')) return fail(Fail("'{'"));
  std::vector<std::string> seen;
  bool more = !Consume('}');
  while (more) {
    std::string field;
    if (Status status = ReadString(&field, kMaxNameBytes); !status.ok()) return fail(status);
    for (const std::string& earlier : seen) {
      if (earlier == field) return fail(Fail(Quote(field) + " only once"));
    }
    if (!Consume(':')) return fail(Fail("':'"));
    if (Status status = ReadField(field, tensor); !status.ok()) return fail(status);
    seen.push_back(std::move(field));
    if (Status status = ReadSeparator('}', &more); !status.ok()) return fail(status);
  }
  if (seen.size() != 3) return fail(Fail("\"dtype\", \"shape\" and \"data_offsets\" before it"));
  return Status();
}

Status HeaderReader::ReadField(const std::string& field, HeaderTensor* tensor) {
  if (field == "dtype") return ReadString(&tensor->dtype, 16);
  if (field == "shape") return ReadNumbers(&tensor->shape, kMaxDimensions);
  if (field != "data_offsets") return Fail("a value of dtype, shape or data_offsets only");
  std::vector<std::uint64_t> offsets;
  MURMURATE_RETURN_IF_ERROR(ReadNumbers(&offsets, 2));
  if (offsets.size() != 2) return Fail("two data_offsets before it");
  tensor->begin = offsets[0];
  tensor->end = offsets[1];
  return Status();
}

Status HeaderReader::ReadNumbers(std::vector<std::uint64_t>* numbers, std::size_t limit) {
  if (!Consume('[')) return Fail("'['");
  bool more = !Consume(']');
  while (more) {
    if (numbers->size() == limit) return Fail("at most " + std::to_string(limit) + " numbers");
    SkipSpace();
    std::uint64_t value = 0;
    const char* const begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error != std::errc()) return Fail("a whole number below 2^64");
    if (*begin == '0' && end - begin > 1) return Fail("a number without leading zeros");
    numbers->push_back(value);
    at_ += static_cast<std::size_t>(end - begin);
    MURMURATE_RETURN_IF_ERROR(ReadSeparator(']', &more));
  }
  return Status();
}

Status HeaderReader::ReadString(std::string* value, std::size_t limit) {
  if (!Consume('"')) return Fail("'\"'");
  while (at_ < text_.size() && text_[at_] != '"') {
    if (value->size() >= limit)
      return Fail("a string of at most " + std::to_string(limit) + " bytes");
    const char c = text_[at_++];
    if (static_cast<unsigned char>(c) < 0x20) {
      --at_;
      return Fail("no control character in a string");
    }
    if (c != '\\') {
      value->push_back(c);
    } else {
      MURMURATE_RETURN_IF_ERROR(ReadEscape(value));
    }
  }
  if (at_ >= text_.size()) return Fail("the end of a string");
  ++at_;
  return Status();
}

Status HeaderReader::ReadEscape(std::string* value) {
  constexpr std::string_view kEscapes = "\"\\/bfnrt";
  constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
  if (at_ < text_.size() && text_[at_] == 'u') return ReadCodePoint(value);
  const std::size_t which = at_ < text_.size() ? kEscapes.find(text_[at_]) : std::string_view::npos;
  if (which == std::string_view::npos) return Fail("an escape of JSON");
  value->push_back(kMeanings[which]);
  ++at_;
  return Status();
}

bool HeaderReader::ReadHex(std::uint32_t* unit) {
  if (text_.size() - at_ < 5 || text_[at_] != 'u') return false;
  const char* const begin = text_.data() + at_ + 1;
  const auto [end, error] = std::from_chars(begin, begin + 4, *unit, 16);
  at_ += 5;
  return error == std::errc() && end == begin + 4 && *begin != '-';
}

Status HeaderReader::ReadCodePoint(std::string* value) {
  std::uint32_t code = 0;
  if (!ReadHex(&code)) return Fail("four hexadecimal digits before it");
  if (code >= 0xdc00 && code < 0xe000) return Fail("no lone surrogate before it");
  if (code >= 0xd800 && code < 0xdc00) {
    std::uint32_t low = 0;
    if (at_ >= text_.size() || text_[at_++] != '\\' || !ReadHex(&low) || low < 0xdc00 ||
        low >= 0xe000) {
      return Fail("the second half of a surrogate pair before it");
    }
    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
  }
  AppendUtf8(code, value);
  return Status();
}

}  // namespace murmurate
