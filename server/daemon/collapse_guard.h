// CollapseGuard: what a run does when a model's policy has collapsed (collapse_watch.h), as
// run.on_collapse says: it goes back to the parameters that the best window began with, with an
// optimizer that remembers nothing and at half the learning rate; or it only says so.
//
//   mmr-learn --Learned--> CollapseWatch --> go_back, halve_rate   from the next batch on
//
// The parameters are those of a snapshot that was published, so keeping them costs memory but no
// copy. They are part of checkpoints, with what the watch knows.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "murmurate/log.h"
#include "server/learn/collapse_watch.h"
#include "shared/model/state.h"
#include "shared/weights/weights.h"

namespace murmurate {

struct CollapseOptions {
  std::string model;
  double most_entropy = 0;         ///< of the policy
  bool goes_back = true;           ///< else it only says what was seen
  std::string stays_since = {};    ///< why it does not go back: "run.on_collapse says so"
  std::function<bool()> lockstep;  ///< asked when it would go back, which such a run must not
  std::function<void(std::shared_ptr<const Snapshot>)> go_back;
  std::function<void()> halve_rate;
  LogCallback log;
};

/// One thread at a time.
class CollapseGuard {
 public:
  static constexpr int kMostReturns = 3;
  using Settings = std::vector<std::pair<std::string, double>>;

  explicit CollapseGuard(CollapseOptions options);

  /// After each batch. `newest`: the parameters that it left. `settings`: the games', under which
  /// returns are compared.
  void Learned(const LearnReport& report, std::shared_ptr<const Snapshot> newest,
               const Settings& settings);
  /// The parameters that learning begins with.
  void Begin(std::shared_ptr<const Snapshot> first);

  void Save(const StateWriter& writer) const;
  /// After Begin, whose snapshot has as many parameters. A checkpoint without such a section leaves
  /// it as it is.
  Status Load(const StateReader& reader);

 private:
  void React(const std::string& seen, std::uint64_t version);
  std::string ReasonToStay() const;

  const CollapseOptions options_;
  CollapseWatch watch_;
  std::optional<Settings> settings_;  ///< of the batch before
  std::shared_ptr<const Snapshot> window_began_, best_;
  int returns_ = 0;
};

}  // namespace murmurate
