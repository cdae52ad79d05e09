#include "server/daemon/live_numbers.h"

#include <algorithm>
#include <tuple>

#include "server/config/config.h"
#include "server/metrics/number_text.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

constexpr struct {
  const char* path;
  Schedule Rates::*rate;
} kRates[] = {
    {"algorithm.clip", &Rates::clip},
    {"algorithm.entropy", &Rates::entropy},
    {"optimizer.learning_rate", &Rates::learning_rate},
};

std::string Short(double value) { return FormatNumber("%g", value); }

std::string Change(const std::string& name, double before, double after) {
  return name + ": " + Short(before) + " -> " + Short(after);
}

/// Reads a value by the rules of the config.
Result<double> ReadValue(const std::string& path, const std::string& value) {
  ConfigEntries entries;
  MURMURATE_RETURN_IF_ERROR(ReadOverride({path, value, "set"}, Schema(), &entries));
  if (const auto number = As<double>(entries.values.at(path).value)) return *number;
  return InvalidArgument("set " + path + '=' + value +
                         ": expected a number; schedules and curricula stand in the config");
}

}  // namespace

LiveNumbers::LiveNumbers(std::vector<GameSetting> settings,
                         std::function<void(const wire::Settings&)> send, LogCallback log)
    : settings_(std::move(settings)), send_(std::move(send)), log_(std::move(log)) {
  if (settings_.revision() != 0) Send();
}

void LiveNumbers::Send() const {
  wire::Settings all{settings_.revision(), {}};
  for (const auto& [name, value] : settings_.values()) all.settings.push_back({name, value});
  send_(all);
}

void LiveNumbers::AddModel(const std::string& name, const Rates& rates,
                           std::function<std::uint64_t()> steps,
                           std::function<void(const Rates&)> post) {
  const std::lock_guard lock(mutex_);
  models_.push_back({name, rates, rates, std::move(steps), std::move(post)});
}

std::vector<wire::ReportedNumber> LiveNumbers::Learned(const std::string& model,
                                                       std::span<const EpisodeRecord> episodes,
                                                       std::uint64_t learned_steps) {
  const std::lock_guard lock(mutex_);
  std::vector<wire::ReportedNumber> played;
  const GameSettings::Values before = settings_.values();
  for (const auto& [name, value] : before) played.push_back({"settings/" + name, 0.0, 0});
  for (const EpisodeRecord& episode : episodes) {
    if (episode.mode != 0) continue;
    const auto values = settings_.PlayedUnder(episode);
    for (std::size_t i = 0; i < values.size(); ++i) {
      played[i].sum += values[i];
      ++played[i].count;
    }
  }
  if (models_.empty() || models_.front().name != model) return played;
  if (!settings_.Advance(episodes, learned_steps)) return played;
  Send();
  const GameSettings::Values after = settings_.values();
  for (std::size_t i = 0; i < after.size(); ++i) {
    const bool curriculum =
        std::holds_alternative<Curriculum>(settings_.Find(after[i].first)->rule);
    if (curriculum && after[i].second != before[i].second)
      log_(LogLevel::kInfo, "setting " + Change(after[i].first, before[i].second, after[i].second));
  }
  return played;
}

Result<std::string> LiveNumbers::Set(const std::string& assignment, const std::string& by) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0)
    return InvalidArgument("set " + assignment +
                           ": expected NAME=VALUE; write for example set RUN difficulty=2");
  const std::string name = assignment.substr(0, equals), value = assignment.substr(equals + 1);
  const std::lock_guard lock(mutex_);
  const std::string setting = name.starts_with("settings.") ? name.substr(9) : name;
  const bool known = settings_.Find(setting) != nullptr;
  std::string model, path = name;
  for (const Model& one : models_) {
    const std::string own = "model." + one.name + '.';
    if (name.starts_with(own)) std::tie(model, path) = std::pair(one.name, name.substr(own.size()));
  }
  const bool rate = std::ranges::any_of(kRates, [&](const auto& r) { return path == r.path; });
  if (!known && !rate) return NoSuchName(name);
  const auto number = ReadValue(known ? "settings." + setting : path, value);
  if (!number.ok()) return number.status();
  auto answer = known ? SetSetting(setting, *number) : SetRate(model, path, *number);
  if (answer.ok()) log_(LogLevel::kInfo, "set " + by + ": " + *answer);
  return answer;
}

Result<std::string> LiveNumbers::SetSetting(const std::string& name, double value) {
  const double before = settings_.ValueOf(name);
  if (!settings_.Set(name, value)) {
    const auto& curriculum = std::get<Curriculum>(settings_.Find(name)->rule);
    return InvalidArgument("set " + name + '=' + Short(value) + ": expected a number from " +
                           Short(curriculum.from) + " to " + Short(curriculum.to) +
                           ", the ends of its curriculum");
  }
  if (value != before) Send();
  return Change(name, before, value);
}

Result<std::string> LiveNumbers::SetRate(const std::string& model, const std::string& rate,
                                         double value) {
  if (models_.empty())
    return InvalidArgument("set " + rate + ": no actor has named a model yet; try again later");
  const auto* entry = std::ranges::find_if(kRates, [&](const auto& r) { return rate == r.path; });
  std::string answer;
  for (Model& one : models_) {
    if (!model.empty() && one.name != model) continue;
    if (entry->rate == &Rates::clip && !one.rates.clips)
      return InvalidArgument("set " + rate + ": model " + one.name +
                             " learns by an algorithm that clips no ratio");
    Schedule& held = one.rates.*entry->rate;
    const std::string name = models_.size() == 1 ? rate : "model." + one.name + '.' + rate;
    answer += (answer.empty() ? "" : "; ") + Change(name, held.At(one.steps()), value);
    held = Schedule(value);
    one.post(one.rates);
  }
  return answer;
}

void LiveNumbers::ScaleRate(const std::string& model, double factor) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(models_, model, &Model::name);
  if (found == models_.end()) return;
  Schedule& rate = found->rates.learning_rate;
  rate.from *= factor;
  rate.to *= factor;
  found->post(found->rates);
}

Status LiveNumbers::NoSuchName(const std::string& name) const {
  for (const char* key : {"device", "precision", "deterministic", "tune"})
    if (name.starts_with("model.") && name.ends_with('.' + std::string(key)))
      return InvalidArgument("set " + name +
                             ": a model stays where its training began; stop the run and go on "
                             "with `murmurate resume RUN --set " +
                             name + "=VALUE`");
  std::vector<std::string> known;
  for (const auto& setting : settings_.values()) known.push_back(setting.first);
  for (const auto& rate : kRates) known.push_back(rate.path);
  const std::string nearest = Nearest(name, known);
  std::string list;
  for (const std::string& one : known) list += (list.empty() ? "" : ", ") + one;
  return InvalidArgument("set " + name + ": nothing of that name can be set; " +
                         (nearest.empty() ? "" : "did you mean \"" + nearest + "\"? ") +
                         "expected one of " + list);
}

GameSettings::Values LiveNumbers::settings() const {
  const std::lock_guard lock(mutex_);
  return settings_.values();
}

void LiveNumbers::Save(const StateWriter& writer) const {
  const std::lock_guard lock(mutex_);
  settings_.Save(writer);
}

Status LiveNumbers::Load(const StateReader& reader) {
  const std::lock_guard lock(mutex_);
  MURMURATE_RETURN_IF_ERROR(settings_.Load(reader));
  if (settings_.revision() != 0) Send();
  return {};
}

void LiveNumbers::SaveRates(const std::string& model, const StateWriter& writer) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(models_, model, &Model::name);
  if (found == models_.end()) return;
  found->given.Save(writer.Section("given"));
  found->rates.Save(writer);
}

Status LiveNumbers::LoadRates(const std::string& model, const StateReader& reader) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(models_, model, &Model::name);
  MURMURATE_CHECK(found != models_.end(), "rates of a model that is not there");
  Rates given = found->given, rates = found->rates;
  MURMURATE_RETURN_IF_ERROR(given.Load(reader.Section("given")));
  MURMURATE_RETURN_IF_ERROR(rates.Load(reader));
  for (const auto& entry : kRates) {
    const bool by_hand = rates.*entry.rate != given.*entry.rate;
    if (by_hand && (given.*entry.rate).SaysTheSame(found->given.*entry.rate))
      found->rates.*entry.rate = rates.*entry.rate;
  }
  found->post(found->rates);
  return {};
}

}  // namespace murmurate
