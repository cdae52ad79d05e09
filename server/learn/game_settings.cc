#include "server/learn/game_settings.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "shared/core/check.h"

namespace murmurate {
namespace {

double First(const GameSetting& setting) {
  if (const auto* number = std::get_if<double>(&setting.rule)) return *number;
  if (const auto* schedule = std::get_if<Schedule>(&setting.rule)) return schedule->At(0);
  return std::get<Curriculum>(setting.rule).from;
}

bool Counts(const Curriculum& curriculum, const EpisodeRecord& episode) {
  return episode.mode == 0 &&
         (curriculum.number != Curriculum::Number::kSuccess || episode.success != 0);
}

double NumberOf(const Curriculum& curriculum, const EpisodeRecord& episode) {
  switch (curriculum.number) {
    case Curriculum::Number::kSuccess:
      return episode.success == 2 ? 1.0 : 0.0;
    case Curriculum::Number::kReturn:
      return episode.raw_return;
    case Curriculum::Number::kLength:
      return episode.length;
  }
  return 0.0;
}

bool Reached(const Curriculum& curriculum, const std::deque<EpisodeRecord>& window) {
  if (window.size() < static_cast<std::size_t>(curriculum.episodes)) return false;
  double sum = 0;
  for (const EpisodeRecord& episode : window) sum += NumberOf(curriculum, episode);
  const double mean = sum / static_cast<double>(window.size());
  return curriculum.at_least ? mean >= curriculum.bound : mean <= curriculum.bound;
}

bool Between(double value, double a, double b) {
  return value >= std::min(a, b) && value <= std::max(a, b);
}

}  // namespace

GameSettings::GameSettings(std::vector<GameSetting> settings) {
  for (GameSetting& setting : settings) {
    const double first = First(setting);
    running_.push_back({std::move(setting), first});
  }
  if (!running_.empty()) Publish();
}

GameSettings::Values GameSettings::values() const {
  Values values;
  for (const Running& running : running_) values.emplace_back(running.setting.name, running.value);
  return values;
}

bool GameSettings::Advance(std::span<const EpisodeRecord> episodes, std::uint64_t learned_steps) {
  for (const EpisodeRecord& episode : episodes) {
    const auto played = PlayedUnder(episode);
    for (std::size_t i = 0; i < played.size(); ++i) {
      const auto* curriculum = std::get_if<Curriculum>(&running_[i].setting.rule);
      if (!curriculum || played[i] != running_[i].value || !Counts(*curriculum, episode)) continue;
      running_[i].window.push_back(episode);
      if (running_[i].window.size() > static_cast<std::size_t>(curriculum->episodes))
        running_[i].window.pop_front();
    }
  }
  bool changed = false;
  for (Running& running : running_) {
    const double before = running.value;
    if (const auto* schedule = std::get_if<Schedule>(&running.setting.rule);
        schedule != nullptr && !running.by_hand)
      running.value = schedule->At(learned_steps);
    Climb(&running);
    changed |= running.value != before;
  }
  if (changed) Publish();
  return changed;
}

bool GameSettings::Climb(Running* running) {
  const auto* curriculum = std::get_if<Curriculum>(&running->setting.rule);
  if (!curriculum || running->value == curriculum->to || !Reached(*curriculum, running->window))
    return false;
  running->window.clear();
  const double left = curriculum->to - running->value;
  running->value += std::copysign(std::min(curriculum->step, std::abs(left)), left);
  return true;
}

void GameSettings::Publish() {
  revision_ = revision_ == kLastRevision ? 1 : revision_ + 1;
  std::vector<double> all;
  for (const Running& running : running_) all.push_back(running.value);
  history_.emplace_back(revision_, std::move(all));
  if (history_.size() > kHistory) history_.pop_front();
}

const GameSetting* GameSettings::Find(const std::string& name) const {
  for (const Running& running : running_)
    if (running.setting.name == name) return &running.setting;
  return nullptr;
}

double GameSettings::ValueOf(const std::string& name) const {
  for (const Running& running : running_)
    if (running.setting.name == name) return running.value;
  MURMURATE_CHECK(false, "a setting that is not there");
  return 0;
}

bool GameSettings::Set(const std::string& name, double value) {
  for (Running& running : running_) {
    if (running.setting.name != name) continue;
    const auto* curriculum = std::get_if<Curriculum>(&running.setting.rule);
    if (curriculum && !Between(value, curriculum->from, curriculum->to)) return false;
    running.by_hand = true;
    if (running.value == value) return true;
    running.value = value;
    running.window.clear();
    Publish();
    return true;
  }
  return false;
}

std::span<const double> GameSettings::PlayedUnder(const EpisodeRecord& episode) const {
  if (episode.settings == 0) return {};
  for (auto known = history_.rbegin(); known != history_.rend(); ++known)
    if (known->first == episode.settings) return known->second;
  return {};
}

void GameSettings::Save(const StateWriter& writer) const {
  for (const Running& running : running_) {
    const double numbers[] = {running.value, running.by_hand ? 1.0 : 0.0};
    writer.Doubles(running.setting.name, numbers);
  }
}

Status GameSettings::Load(const StateReader& reader) {
  std::vector<std::pair<double, bool>> read;
  for (const Running& running : running_) {
    double numbers[2];
    MURMURATE_RETURN_IF_ERROR(reader.Doubles(running.setting.name, numbers));
    read.emplace_back(numbers[0], numbers[1] != 0);
  }
  for (std::size_t i = 0; i < read.size(); ++i) {
    std::tie(running_[i].value, running_[i].by_hand) = read[i];
    running_[i].window.clear();
  }
  if (!running_.empty()) Publish();
  return {};
}

}  // namespace murmurate
