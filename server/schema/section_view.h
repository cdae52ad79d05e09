// SectionView: one section of a configuration as it holds for one model or one stream, and how its
// keys are refused: place, key, what it got, what was expected, what to do.
#pragma once

#include <initializer_list>
#include <span>
#include <string>

#include "murmurate/status.h"
#include "server/schema/config_reader.h"

namespace murmurate {

/// Whether nothing stands in the file or in an argument.
inline bool IsDefault(const ConfigEntry& entry) { return entry.origin.starts_with("default"); }

/// Reads entries whose defaults are filled in; refers to them and to the rules.
class SectionView {
 public:
  /// `own`: the path before the keys, "model.npc.algorithm."; a key that is not there stands in
  /// `general`, "algorithm.".
  SectionView(const ConfigEntries& entries, std::span<const ConfigRule> rules, std::string own,
              std::string general)
      : entries_(entries), rules_(rules), own_(std::move(own)), general_(std::move(general)) {}

  /// Null: no entry. Only optional sections leave keys out.
  const ConfigEntry* Find(const std::string& key) const;
  const ConfigEntry& operator[](const std::string& key) const;
  /// Whether it says something else than when it is not set: what a resolved config spells out is
  /// not given.
  bool Given(const std::string& key) const;
  /// The path of the entry: "algorithm.epochs" or "model.npc.algorithm.epochs".
  std::string PathOf(const std::string& key) const;
  /// "c.toml:3: algorithm.epochs: "
  std::string Locate(const std::string& key) const;

  /// The place and `why`.
  Status Blame(const std::string& key, const std::string& why) const {
    return InvalidArgument(Locate(key) + why);
  }
  Status Blame(const std::string& key, const Status& status) const {
    return Blame(key, status.message());
  }
  /// The place, "got VALUE, expected " and the rest.
  Status Refuse(const std::string& key, const std::string& expected) const;
  /// Names the key of the model itself, "model.npc.algorithm.epochs", also where what it comes to
  /// stands in the general section, at the place of `blamed`.
  Status RefuseOwn(const std::string& key, const std::string& expected,
                   const std::string& blamed) const;
  Status BlameOwn(const std::string& key, const std::string& why) const;
  /// `key` says something where it makes no sense.
  Status Superfluous(const std::string& key, const std::string& because) const {
    return Refuse(key, "no such line, because " + because);
  }
  /// The first of the keys that is given; ok when none is.
  Status NoneOf(std::initializer_list<const char*> keys, const std::string& because) const;

 private:
  const ConfigEntries& entries_;
  std::span<const ConfigRule> rules_;
  std::string own_, general_;
};

}  // namespace murmurate
