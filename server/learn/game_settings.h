// GameSettings: the numbers of [settings] that games read as an episode begins, and what moves
// them: a schedule over steps learned from, or a curriculum, a step at a time, whenever the games
// have become good enough at the present value.
//
//   mmr-learn --Advance(episodes, steps)--> values and a new revision --> game: Client::Setting
//        ^                                                                         |
//        `------------------ EpisodeRecord.settings: the revision -----------------'
//
// Episodes count for a curriculum only if they were played under its present value. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "murmurate/status.h"
#include "server/learn/algorithm_settings.h"
#include "shared/model/state.h"
#include "shared/trajectory/trajectory.h"

namespace murmurate {

/// Curriculum moves a value from `from` by `step` towards `to` each time the number, over the last
/// `episodes` training episodes played under the present value, meets the bound. Never back.
struct Curriculum {
  enum class Number : std::uint8_t { kSuccess, kReturn, kLength };
  double from = 0, to = 0, step = 1;  ///< step > 0
  Number number = Number::kSuccess;
  bool at_least = true;  ///< else: at most
  double bound = 0;
  int episodes = 100;
};

struct GameSetting {
  std::string name;
  std::variant<double, Schedule, Curriculum> rule;
};

class GameSettings {
 public:
  static constexpr std::uint32_t kLastRevision = 65535;  ///< then 1 again

  explicit GameSettings(std::vector<GameSetting> settings);

  using Values = std::vector<std::pair<std::string, double>>;  ///< by name
  Values values() const;
  std::uint32_t revision() const { return revision_; }  ///< 0: there are no settings

  /// Moves the values after a batch, by the episodes it finished and the steps learned from by
  /// then. True when a value changed.
  bool Advance(std::span<const EpisodeRecord> episodes, std::uint64_t learned_steps);
  /// Sets a value by hand. A number or a schedule then stays; a curriculum goes on from it. False
  /// when there is none of that name or, of a curriculum, the value is not between its ends.
  bool Set(const std::string& name, double value);
  const GameSetting* Find(const std::string& name) const;
  double ValueOf(const std::string& name) const;  ///< of a name that Find knows

  /// The values under which an episode was played, in the order of values(); empty when unknown.
  std::span<const double> PlayedUnder(const EpisodeRecord& episode) const;

  void Save(const StateWriter& writer) const;
  /// Loads settings of the same names; what was running goes on where it was.
  Status Load(const StateReader& reader);

 private:
  static constexpr std::size_t kHistory = 4096;  ///< revisions remembered

  struct Running {
    GameSetting setting;
    double value = 0;
    bool by_hand = false;                ///< Set: no schedule any more
    std::deque<EpisodeRecord> window{};  ///< of a curriculum, under the present value
  };

  bool Climb(Running* running);
  void Publish();

  std::vector<Running> running_;
  std::uint32_t revision_ = 0;
  std::deque<std::pair<std::uint32_t, std::vector<double>>> history_;  ///< the newest last
};

}  // namespace murmurate
