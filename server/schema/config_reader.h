// Reading a configuration: TOML text and --set into entries, each checked against its rule.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "murmurate/status.h"
#include "server/schema/config_rules.h"

namespace murmurate {

/// A source of TOML: a file, or one of the examples built into the executable.
struct ConfigSource {
  std::string label;  ///< "cartpole.toml", or "cartpole (built in)"
  std::string stem;   ///< the run's name when none is set: "cartpole"
  std::string text;
  std::string folder = {};  ///< where relative paths in it start; "": the working folder
};

/// ConfigOverride is one `--set section.key=value`; `origin` is how a message names it ("--set",
/// "--seed"; "MURMURATE_RUN__SEED"; "set" of a live run).
struct ConfigOverride {
  std::string path, value;
  std::string origin = "--set";
};

/// What the names of environment variables begin with. Messages show such an origin alone: the
/// value may be a secret.
inline constexpr char kEnvironmentPrefix[] = "MURMURATE_";
inline bool IsFromEnvironment(const std::string& origin) {
  return origin.starts_with(kEnvironmentPrefix);
}
/// Of an entry: the command line or the environment set it, not a file.
inline bool IsOverride(const std::string& origin) {
  return origin.starts_with("--") || IsFromEnvironment(origin);
}

struct ConfigEntry {
  ConfigValue value;
  std::string origin;  ///< "default", "cartpole.toml:7", "--set algorithm.epochs=4"
};

/// A section [stream.NAME], and the [stream.NAME.field.FIELD] and [stream.NAME.alarm] in it, each
/// with its place.
struct ConfigStream {
  std::string origin;
  std::map<std::string, std::string> fields;
  std::string alarm;  ///< "": none
};

struct ConfigEntries {
  /// The entries by "section.key", "model.NAME[.algorithm].key" or
  /// "stream.NAME[.field.FIELD|.alarm].key"; of hooks see below.
  std::map<std::string, ConfigEntry> values;
  std::set<std::string> models;  ///< NAMEs of [model.NAME]
  std::map<std::string, ConfigStream> streams;
  std::vector<std::string> hooks;  ///< the kind of each [[hook]]; the N-th has "hook.N.key"
};

/// The path of an entry: "section.key"; of a model's own, "model.NAME.key" and
/// "model.NAME.algorithm.key".
std::string PathOf(const std::string& section, const std::string& key, const std::string& model);

Status ReadText(const ConfigSource& source, const ConfigSchema& schema, ConfigEntries* entries);
Status ReadOverride(const ConfigOverride& change, const ConfigSchema& schema,
                    ConfigEntries* entries);

}  // namespace murmurate
