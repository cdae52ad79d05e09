// TopicPattern: which topics a stream reads, and what their levels say.
//
//   sensors/{device}/data      filter of MQTT: sensors/+/data
//   {site}/floor/{device}      +/floor/+
//   plant/line3                itself; one device, named "", or whom each payload names
//
// A name in braces stands for one whole level. {device} says whose sample it is, and it alone:
// devices of one name at two sites are one device. What a level holds comes from outside; it is
// bounded and checked (names.h).
//
// TopicTemplate: where a stream publishes, filled from the levels that a message came with.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "murmurate/status.h"
#include "server/stream/sample.h"

namespace murmurate {

class TopicPattern {
 public:
  /// kInvalidArgument with the remedy: an empty text or one of more than 1024 bytes, '+', '#' or a
  /// zero byte, '$' at its beginning, braces beside other text in a level, a name that is not 1 to
  /// 64 of A-Z a-z 0-9 _ - or occurs twice, more than 16 names, or names without {device}.
  /// `device_outside`: a text without {device} has that name all the same, last and in no level,
  /// because the payload says it. Match gives no value for it.
  static Result<TopicPattern> Parse(std::string_view text, bool device_outside = false);

  const std::string& text() const { return text_; }
  /// The filter to subscribe to.
  const std::string& filter() const { return filter_; }
  /// The names in the order of Match's `values`.
  const std::vector<std::string>& names() const { return names_; }

  /// kNone, and one value per name, which lie in `topic`; else kUnknownTopic, or what is wrong with
  /// a value. Allocates nothing once `values` has room.
  Refusal Match(std::string_view topic, std::vector<std::string_view>* values) const;
  bool has_device() const { return device_ >= 0; }
  /// Whether some topic fits both.
  bool Meets(const TopicPattern& other) const;
  /// The value of {device}; "" without one.
  std::string_view DeviceOf(std::span<const std::string_view> values) const {
    return device_ < 0 ? std::string_view() : values[static_cast<std::size_t>(device_)];
  }

 private:
  friend class TopicTemplate;
  struct Level {
    std::string text;  ///< as it must be when it has no name
    int name = -1;     ///< in names_
  };
  static bool Meet(const std::vector<Level>& some, const std::vector<Level>& others);
  /// Parse without the rule on {device}.
  static Result<TopicPattern> Read(std::string_view text);
  Status AddLevel(std::string_view level);
  Status AddName(std::string_view name);

  std::string text_, filter_;
  std::vector<std::string> names_;
  std::vector<Level> levels_;
  int device_ = -1;
};

class TopicTemplate {
 public:
  /// Parses as TopicPattern does, without the rule on {device}; every name must be in `source`, and
  /// no filled topic may fit `source`, because the stream would read what it writes.
  static Result<TopicTemplate> Parse(std::string_view text, const TopicPattern& source);

  /// Whether a filled topic may fit `pattern`.
  bool Meets(const TopicPattern& pattern) const;
  /// Overwrites `topic` with the topic for values as source.Match gives them, and the device where
  /// it is named beside.
  void Fill(std::span<const std::string_view> values, std::string* topic) const;

 private:
  std::vector<TopicPattern::Level> levels_;  ///< names count in the source
};

}  // namespace murmurate
