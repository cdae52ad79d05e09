// LiveNumbers: what may be changed while a run goes on: the games' settings and the models' rates;
// by the learner itself, and by `murmurate set`. Any thread.
//
//   mmr-learn --Learned--> settings move --send--> ingest --SETTINGS--> clients
//   mmr-operate --Set("difficulty=2")--> settings, or LearnLoop::PostRates
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "murmurate/log.h"
#include "server/learn/game_settings.h"
#include "server/learn/rates.h"
#include "shared/wire/actor_messages.h"

namespace murmurate {

class LiveNumbers {
 public:
  /// `send` is called with all settings whenever one has changed, and once here when there are any.
  LiveNumbers(std::vector<GameSetting> settings, std::function<void(const wire::Settings&)> send,
              LogCallback log);

  /// A model that learns from now on. `steps`: those it has learned from; `post` hands it new
  /// rates.
  void AddModel(const std::string& name, const Rates& rates, std::function<std::uint64_t()> steps,
                std::function<void(const Rates&)> post);

  /// Moves the settings, after a batch of `model`, by the first model's episodes. Returns those
  /// that the episodes were played under, as numbers to report: settings/NAME.
  std::vector<wire::ReportedNumber> Learned(const std::string& model,
                                            std::span<const EpisodeRecord> episodes,
                                            std::uint64_t learned_steps);

  /// NAME=VALUE, NAME a setting or algorithm.entropy, algorithm.clip or optimizer.learning_rate (of
  /// all models, or model.NAME.algorithm.entropy): "difficulty: 0 -> 2".
  /// `by`: how the log names who set it.
  Result<std::string> Set(const std::string& assignment, const std::string& by = "by hand");

  /// Halves the learning rate of `model`, both ends of a schedule, as if it had been set by hand.
  void HalveRate(const std::string& model) { ScaleRate(model, 0.5); }
  void ScaleRate(const std::string& model, double factor);  ///< likewise

  GameSettings::Values settings() const;

  /// Saves the settings for checkpoints; Load sends what it found.
  void Save(const StateWriter& writer) const;
  Status Load(const StateReader& reader);
  /// Likewise the rates of `model`, and those its config gave. LoadRates posts what was set by
  /// hand, but where the config says something else than it did then, its word is newer and holds.
  /// More run.steps under a schedule that takes its horizon from them are not something else.
  void SaveRates(const std::string& model, const StateWriter& writer) const;
  Status LoadRates(const std::string& model, const StateReader& reader);

 private:
  struct Model {
    std::string name;
    Rates given, rates;  ///< by the config, and as they are
    std::function<std::uint64_t()> steps;
    std::function<void(const Rates&)> post;
  };

  Result<std::string> SetSetting(const std::string& name, double value);
  Result<std::string> SetRate(const std::string& model, const std::string& rate, double value);
  Status NoSuchName(const std::string& name) const;
  void Send() const;

  mutable std::mutex mutex_;
  GameSettings settings_;
  std::vector<Model> models_;
  const std::function<void(const wire::Settings&)> send_;
  const LogCallback log_;
};

}  // namespace murmurate
