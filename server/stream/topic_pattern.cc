#include "server/stream/topic_pattern.h"

#include <algorithm>
#include <optional>

#include "server/stream/names.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

constexpr std::size_t kMaxTopicBytes = 1024, kMaxPatternNames = 16, kMaxPatternNameBytes = 64;

std::string Quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

/// Takes a topic apart; n slashes are between n + 1 levels.
class Levels {
 public:
  explicit Levels(std::string_view topic) : rest_(topic) {}

  /// None when all were taken.
  std::optional<std::string_view> Next() {
    if (done_) return std::nullopt;
    const std::size_t end = rest_.find('/');
    const std::string_view level = rest_.substr(0, end);
    done_ = end == rest_.npos;
    rest_.remove_prefix(done_ ? rest_.size() : end + 1);
    return level;
  }

 private:
  std::string_view rest_;
  bool done_ = false;
};

bool IsName(std::string_view name) {
  return !name.empty() && name.size() <= kMaxPatternNameBytes &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                  c == '_' || c == '-';
         });
}

Status CheckText(std::string_view text) {
  if (text.empty())
    return InvalidArgument("a topic is missing: write one, as sensors/{device}/data");
  if (text.size() > kMaxTopicBytes) {
    return InvalidArgument("a topic of " + std::to_string(text.size()) +
                           " bytes is too long: at most 1024 are taken");
  }
  if (text.find('\0') != text.npos) {
    return InvalidArgument("a topic has a zero byte in it: leave it out");
  }
  if (text.find_first_of("+#") != text.npos) {
    return InvalidArgument("the topic " + Quoted(text) +
                           " has '+' or '#' in it: give each level that varies a name, as "
                           "sensors/{device}/data");
  }
  if (text.front() == '$') {
    return InvalidArgument("the topic " + Quoted(text) +
                           " begins with '$', which is the broker's own: choose another");
  }
  return {};
}

}  // namespace

Status TopicPattern::AddName(std::string_view name) {
  if (!IsName(name)) {
    return InvalidArgument("the topic " + Quoted(text_) + " has a level {" + std::string(name) +
                           "}: a name is 1 to 64 of A-Z a-z 0-9 _ -");
  }
  if (std::find(names_.begin(), names_.end(), name) != names_.end()) {
    return InvalidArgument("the topic " + Quoted(text_) + " has two levels {" + std::string(name) +
                           "}: give one of them another name");
  }
  if (names_.size() == kMaxPatternNames) {
    return InvalidArgument("the topic " + Quoted(text_) +
                           " has more than 16 names: write levels that never vary without braces");
  }
  if (name == "device") device_ = static_cast<int>(names_.size());
  levels_.push_back({"", static_cast<int>(names_.size())});
  names_.emplace_back(name);
  return {};
}

Status TopicPattern::AddLevel(std::string_view level) {
  if (!levels_.empty()) filter_ += '/';
  if (level.find_first_of("{}") == level.npos) {
    filter_ += level;
    levels_.push_back({std::string(level)});
    return {};
  }
  if (level.front() != '{' || level.back() != '}' || level.size() < 2 ||
      level.find_first_of("{}", 1) != level.size() - 1) {
    return InvalidArgument("the topic " + Quoted(text_) + " has the level " + Quoted(level) +
                           ": a name in braces stands for a whole level, as sensors/{device}/data");
  }
  filter_ += '+';
  return AddName(level.substr(1, level.size() - 2));
}

Result<TopicPattern> TopicPattern::Read(std::string_view text) {
  MURMURATE_RETURN_IF_ERROR(CheckText(text));
  TopicPattern pattern;
  pattern.text_ = text;
  Levels levels(text);
  while (const std::optional<std::string_view> level = levels.Next()) {
    MURMURATE_RETURN_IF_ERROR(pattern.AddLevel(*level));
  }
  return pattern;
}

Result<TopicPattern> TopicPattern::Parse(std::string_view text, bool device_outside) {
  Result<TopicPattern> pattern = Read(text);
  if (pattern.ok() && device_outside && pattern->device_ < 0) {
    pattern->names_.emplace_back("device");
    return pattern;
  }
  if (pattern.ok() && !pattern->names_.empty() && pattern->device_ < 0) {
    return InvalidArgument("the topic " + Quoted(text) +
                           " does not say which level is the device: call that one {device}");
  }
  return pattern;
}

Refusal TopicPattern::Match(std::string_view topic, std::vector<std::string_view>* values) const {
  values->clear();
  if (topic.starts_with('$')) return Refusal::kUnknownTopic;
  Refusal refusal = Refusal::kNone;
  Levels levels(topic);
  for (const Level& level : levels_) {
    const std::optional<std::string_view> value = levels.Next();
    if (!value || (level.name < 0 && *value != level.text)) return Refusal::kUnknownTopic;
    if (level.name < 0) continue;
    if (refusal == Refusal::kNone) refusal = CheckDeviceName(*value);
    values->push_back(*value);
  }
  return levels.Next() ? Refusal::kUnknownTopic : refusal;
}

bool TopicPattern::Meet(const std::vector<Level>& some, const std::vector<Level>& others) {
  return std::equal(some.begin(), some.end(), others.begin(), others.end(),
                    [](const Level& a, const Level& b) {
                      return a.name >= 0 || b.name >= 0 || a.text == b.text;
                    });
}

bool TopicPattern::Meets(const TopicPattern& other) const { return Meet(levels_, other.levels_); }

bool TopicTemplate::Meets(const TopicPattern& pattern) const {
  return TopicPattern::Meet(levels_, pattern.levels_);
}

Result<TopicTemplate> TopicTemplate::Parse(std::string_view text, const TopicPattern& source) {
  Result<TopicPattern> pattern = TopicPattern::Read(text);
  if (!pattern.ok()) return pattern.status();
  if (pattern->Meets(source)) {
    return InvalidArgument("the topic " + Quoted(text) + " fits " + Quoted(source.text()) +
                           ", so the stream would read what it publishes: choose another");
  }
  TopicTemplate filled;
  for (TopicPattern::Level& level : pattern->levels_) {
    if (level.name >= 0) {
      const std::string& name = pattern->names_[static_cast<std::size_t>(level.name)];
      const auto found = std::find(source.names_.begin(), source.names_.end(), name);
      if (found == source.names_.end()) {
        return InvalidArgument("the topic " + Quoted(text) + " has a level {" + name + "} that " +
                               Quoted(source.text()) +
                               " does not have: use its names, or text without braces");
      }
      level.name = static_cast<int>(found - source.names_.begin());
    }
    filled.levels_.push_back(std::move(level));
  }
  return filled;
}

void TopicTemplate::Fill(std::span<const std::string_view> values, std::string* topic) const {
  topic->clear();
  for (const TopicPattern::Level& level : levels_) {
    if (&level != levels_.data()) *topic += '/';
    *topic += level.name < 0 ? level.text : values[static_cast<std::size_t>(level.name)];
  }
}

}  // namespace murmurate
