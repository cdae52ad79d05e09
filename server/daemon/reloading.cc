#include "server/daemon/reloading.h"

#include <algorithm>

#include "server/operate/log_settings.h"
#include "server/schema/section_view.h"
#include "server/schema/settings_keys.h"

namespace murmurate {
namespace {

constexpr const char* kRates[] = {"algorithm.clip", "algorithm.entropy", "optimizer.learning_rate"};

/// A key that LiveNumbers::Set knows: of [settings], or a rate of all models or of one.
bool IsLiveNumber(const std::string& path) {
  if (path.starts_with("settings.")) return true;
  return std::ranges::any_of(kRates, [&](const std::string& rate) {
    return path == rate || (path.starts_with("model.") && path.ends_with('.' + rate));
  });
}

bool IsNumber(const ConfigValue& value) {
  return std::holds_alternative<double>(value) || std::holds_alternative<std::int64_t>(value);
}

std::string Listed(const std::vector<std::string>& words, const char* between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

}  // namespace

Reloading::Reloading(const Config& running, ReloadTargets targets, LogCallback log)
    : running_(running.entries()), targets_(std::move(targets)), log_(std::move(log)) {}

/// Values that only follow from others, as defaults do, are not listed.
std::vector<Reloading::Change> Reloading::ChangesIn(const ConfigEntries& fresh) const {
  std::vector<Change> changes;
  const ConfigEntry unset{{}, "default"};
  const auto compare = [&](const std::string& path, const ConfigEntry& before,
                           const ConfigEntry& after) {
    if (before.value == after.value || (IsDefault(before) && IsDefault(after))) return;
    changes.push_back({path, ToToml(before.value), ToToml(after.value), after});
  };
  for (const auto& [path, after] : fresh.values) {
    const auto before = running_.values.find(path);
    compare(path, before == running_.values.end() ? unset : before->second, after);
  }
  for (const auto& [path, before] : running_.values)
    if (!fresh.values.contains(path)) compare(path, before, unset);
  return changes;
}

/// A rate that was set for all models was set for those with one of their own, too.
void Reloading::SetOwnRates(const std::string& path, const ConfigEntries& fresh) const {
  for (const std::string& model : fresh.models) {
    const auto own = fresh.values.find("model." + model + '.' + path);
    if (own != fresh.values.end() && IsNumber(own->second.value))
      (void)targets_.set(own->first + '=' + ToToml(own->second.value));
  }
}

Result<std::string> Reloading::Take(const Change& change, const Config& fresh) {
  const std::string words = change.path + ": " + change.before + " -> " + change.after;
  if (change.path == "run.stop_at_return" || change.path == "run.stop_at_steps") {
    targets_.stop_rules(fresh.run());
  } else if (change.path == "run.max_disk") {
    targets_.max_disk(fresh.run().max_disk);
  } else if (change.path == "log.level") {
    targets_.log_level(fresh.Read(LogKeys()).level);
  } else if (IsLiveNumber(change.path) && IsNumber(change.entry.value)) {
    auto answer = targets_.set(change.path + '=' + change.after);
    if (answer.ok()) SetOwnRates(change.path, fresh.entries());
    return answer;
  } else {
    return std::string();
  }
  return words;
}

void Reloading::Apply(const Result<Config>& fresh) {
  if (!fresh.ok())
    return log_(LogLevel::kWarning, "reload: nothing was changed: " + fresh.status().message());
  std::vector<std::string> taken, fixed, refused;
  for (const Change& change : ChangesIn(fresh->entries())) {
    const auto words = Take(change, *fresh);
    if (!words.ok()) {
      refused.push_back(words.status().message());
    } else if (words->empty()) {
      fixed.push_back(change.path);
    } else {
      taken.push_back(*words);
      running_.values[change.path] = change.entry;
    }
  }
  log_(LogLevel::kInfo,
       taken.empty() ? "reload: nothing changes" : "reload: " + Listed(taken, "; "));
  if (!refused.empty()) log_(LogLevel::kWarning, "reload: refused: " + Listed(refused, "; "));
  if (!fixed.empty())
    log_(LogLevel::kWarning,
         "reload: cannot change while the learner runs: " + Listed(fixed, ", ") +
             "; stop it and start it again with `murmurate serve --resume`");
}

}  // namespace murmurate
