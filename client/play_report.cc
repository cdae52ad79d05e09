#include "client/play_report.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "shared/core/clock.h"

namespace murmurate {

PlayReport::PlayReport(const AgentRegistry& registry, const BlockSender& sender, LogCallback log)
    : registry_(registry), sender_(sender), log_(std::move(log)) {}

void PlayReport::RecordBaseline(const std::vector<RegisteredModel>& models) {
  baseline_.clear();
  lives_.clear();
  for (std::size_t i = 0; i < models.size(); ++i) {
    lives_.push_back({models[i].model->wait.waited_ns(), 0});
    baseline_.push_back(registry_.Counts(i));
    baseline_.back().steps_dropped += sender_.totals(i).steps_dropped;
  }
}

void PlayReport::NotePlayed(const std::vector<RegisteredModel>& models, std::size_t introduced,
                            bool live, std::int64_t now_ns) {
  const std::int64_t since_ns = std::exchange(played_until_ns_, now_ns);
  lives_.resize(std::max(lives_.size(), introduced));
  if (!live) return;
  for (std::size_t i = 0; i < introduced; ++i) {
    lives_[i].played_ns += (now_ns - since_ns) * std::ssize(models[i].agents);
  }
}

void PlayReport::Pause() {
  for (DroppedPlay& dropped : dropped_) dropped.Pause();
}

wire::Ping PlayReport::Ping(const std::vector<RegisteredModel>& models, std::size_t introduced,
                            bool live) {
  wire::Ping ping;
  baseline_.resize(std::max(baseline_.size(), introduced));
  dropped_.resize(std::max(dropped_.size(), introduced));
  for (std::size_t i = 0; i < introduced; ++i) {
    const RegistryCounts counts = registry_.Counts(i);
    const std::uint64_t unsent = sender_.totals(i).steps_dropped;
    const std::uint64_t dropped = counts.steps_dropped + unsent;
    if (live) dropped_[i].Count(counts.steps, counts.steps_overrun + unsent);
    const auto policies = models[i].model->weights.policies();
    const std::int64_t waited = models[i].model->wait.waited_ns();
    // A wait that began before the session is counted whole when it ends.
    const std::int64_t here_ns = std::min(waited - lives_[i].waited_before_ns, lives_[i].played_ns);
    ping.models.push_back({counts.steps - baseline_[i].steps, dropped - baseline_[i].steps_dropped,
                           policies == nullptr ? 0 : policies->version()});
    ping.waits.push_back(
        {static_cast<std::uint64_t>(here_ns), static_cast<std::uint64_t>(lives_[i].played_ns)});
  }
  ping.troubles = Troubles(models, introduced);
  return ping;
}

std::vector<wire::PingTrouble> PlayReport::Troubles(const std::vector<RegisteredModel>& models,
                                                    std::size_t introduced) {
  std::vector<wire::PingTrouble> troubles = registry_.Troubles();
  for (std::size_t i = 0; i < std::min(introduced, dropped_.size()); ++i) {
    const std::string words = dropped_[i].Words();
    if (words.empty()) continue;
    if (dropped_[i].PopWarning() && log_) {
      log_(LogLevel::kWarning, "model " + models[i].model->name + ": " + words);
    }
    troubles.push_back({.model = static_cast<std::uint32_t>(i), .sentence = words});
  }
  return troubles;
}

void PlayReport::NoteWaiting(const std::vector<RegisteredModel>& models, std::int64_t now_ns) {
  waits_.resize(std::max(waits_.size(), models.size()));
  for (std::size_t i = 0; i < models.size(); ++i) {
    const ClientModel& model = *models[i].model;
    const std::uint32_t progress = model.wait.progress();
    Standstill& wait = waits_[i];
    const bool first_look = wait.since_ns == 0;
    if (first_look || wait.progress != progress || model.wait.waiting() == 0) {
      wait = {progress, now_ns, false};
      continue;
    }
    if (wait.said || now_ns - wait.since_ns < kNanosecondsPerSecond) continue;
    wait.said = true;
    std::string what = "weights";
    if (model.weights.any()) {
      what = model.at_version.load() > 0 ? "version " + std::to_string(model.at_version.load()) +
                                               " and the learner's credit"
                                         : "the learner's credit";
    }
    std::string text = "model " + model.name + ": " + std::to_string(model.wait.waiting()) +
                       " agents have waited for " + what + " for a second";
    if (model.finished.load() > 0) {
      text +=
          ", and " + std::to_string(model.finished.load()) +
          " others, in other threads, hold a finished trajectory until their next Act: do not let "
          "those threads wait for this one";
    }
    if (log_) log_(LogLevel::kWarning, text);
  }
}

}  // namespace murmurate
