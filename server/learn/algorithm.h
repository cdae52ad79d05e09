// Algorithm: how experience becomes gradients. One file implements one (or several that are alike)
// and makes its AlgorithmKind; algorithms.cc lists them all. Nothing else knows an algorithm by its
// name: code that must tell them apart asks a property of the kind.
//
//   batch_plan.h      which rows make which update, decided before
//   Algorithm         Prepare, then the gradient of each planned update
//   host_trainer.h    runs both over a batch and steps the parameters
//
// An algorithm knows no socket, thread, optimizer, version or parameter home.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "server/experience/experience_store.h"
#include "server/experience/training_batch.h"
#include "server/learn/algorithm_settings.h"
#include "server/learn/batch_plan.h"
#include "server/learn/learn_report.h"
#include "server/learn/loss_form.h"
#include "server/learn/planner.h"
#include "shared/model/act_settings.h"
#include "shared/model/model_spec.h"
#include "shared/model/parameter_layout.h"
#include "shared/model/state.h"

namespace murmurate {

/// AlgorithmSums are the results of a batch, as an algorithm counts them: it declares the meaning
/// of each number (AlgorithmMetric). They have the same size on every device, so a device
/// hands back one small block.
using AlgorithmSums = std::array<double, 32>;

class Algorithm {
 public:
  virtual ~Algorithm() = default;

  /// Computes the values that are needed before the batch's first update, over the rows of the
  /// plan. Batch and plan must stay unchanged until the last Gradient.
  virtual void Prepare(std::span<const float> parameters, const TrainingBatch& batch,
                       const BatchPlan& plan) = 0;

  /// Writes the gradient of plan.updates[update] at `parameters`; updates come in order, the first
  /// at the parameters of Prepare. False: the batch is to be left here (plan.most_kl).
  virtual bool Gradient(std::size_t update, std::span<const float> parameters,
                        std::span<float> gradient) = 0;

  /// Scores an update, instead of Gradient, of a plan that is only scored.
  virtual void Score(std::size_t update, std::span<const float> parameters) = 0;

  /// KL (k3) of the policy at `parameters` against the one of Prepare, over the rows of the plan;
  /// after the last Gradient. It becomes the approx_kl of the batch.
  virtual double MeasureChange(std::span<const float> /*parameters*/) { return 0.0; }

  /// The sums since Prepare.
  virtual const AlgorithmSums& sums() const = 0;
  /// The result that the last updates found for each of plan.rows (the size of its error, say), for
  /// what chooses the next batch; empty: nothing. Valid until the next Prepare.
  virtual std::span<const float> row_answers() const { return {}; }

  virtual const ParameterLayout& layout() const = 0;

  /// Saves, between batches, what it carries from one to the next, beside parameters and plans.
  virtual void Save(const StateWriter&) const {}
  virtual Status Load(const StateReader&) { return {}; }
};

/// A value of a key: as a config writes it; nothing: not set.
using KeyValue = std::variant<std::monostate, bool, std::int64_t, double, std::string>;

/// A KeyDefault is an algorithm's own default of a key, where it differs from the general one.
struct KeyDefault {
  std::string section, key;
  KeyValue value;  ///< nothing, of `minibatch`: the whole batch
};

struct AlgorithmKind;

/// A BatchPlanner (batch_planner.h).
std::unique_ptr<Planner> MakeBatchPlanner(const ModelSpec& spec, const AlgorithmSettings& settings,
                                          std::uint64_t seed);

/// A line of [algorithm] that an algorithm refuses.
struct KeyRefusal {
  std::string key;
  /// Null: refused wherever it is written and not the default. Else by its value, be it written or
  /// the general one, unless `written`.
  bool (*refused)(const KeyValue& value) = nullptr;
  bool written = true;
  std::string expected;  ///< "1"
  std::string because;   ///< "{} clips no ratio": {} is this algorithm, {other} the one proposed
  /// Others have what this one lacks: the first of them is proposed.
  bool AlgorithmKind::*instead = nullptr;
};

/// A number of the report: a sum, or one sum over another, left out where that is not above 0. It
/// is a member of the report, or a Metric that the algorithm declares beside its own code.
struct AlgorithmMetric {
  std::variant<double LearnReport::*, const Metric*> number;
  std::size_t sum;
  std::size_t over = kAsItIs;
  static constexpr std::size_t kAsItIs = ~std::size_t{0};
};

/// An AlgorithmKind describes an algorithm before a model of it is made. One of each, never
/// destroyed.
struct AlgorithmKind {
  std::string name;  ///< the config's word for it

  /// Its experience is play of the policy that learns: rewards count, and so does their age. Else
  /// what was done is what is right: files may hold it, and no version is too old.
  bool own_play = true;
  /// What was played is kept and learned from many times, by whatever policy it was played: no
  /// version is too old. Its store gives batches of Samples::kReplayed.
  bool replays = false;
  /// Its samples are sequences of steps (ReplaySettings::sequence), and its model must recur.
  bool sequences = false;
  /// It learns values of recorded actions from files alone, rewards and all, and is scored by
  /// playing. own_play is false.
  bool from_recordings = false;
  /// It needs the network that gives a value.
  bool values = true;
  /// Prepare goes forward over every row; where the plan allows, Gradient uses that pass.
  bool prepares = true;
  bool many_updates = false;     ///< of a batch, where nothing else is said
  bool clips_ratio = false;      ///< reads `clip`
  bool weighs_gradient = false;  ///< the policy's, by pi/mu
  bool leaves_unknown = false;   ///< a label that is NaN is not known, and teaches nothing

  std::vector<KeyDefault> defaults = {};
  std::vector<KeyRefusal> refusals = {};
  std::vector<AlgorithmMetric> metrics = {};

  /// The networks that it learns, made of a policy and its value; the status says what it does not
  /// learn.
  Result<ModelSpec> (*networks)(ModelSpec policy_and_value, const AlgorithmSettings& settings) =
      [](ModelSpec spec, const AlgorithmSettings&) -> Result<ModelSpec> { return spec; };
  /// The way that agents choose at that time, which travels with each version.
  ActSettings (*act)(const AlgorithmSettings& settings, std::uint64_t learned_steps) =
      [](const AlgorithmSettings&, std::uint64_t) { return ActSettings{}; };
  std::unique_ptr<Algorithm> (*make)(const ModelSpec& spec,
                                     const AlgorithmSettings& settings) = nullptr;
  std::unique_ptr<Planner> (*make_planner)(const ModelSpec& spec, const AlgorithmSettings& settings,
                                           std::uint64_t seed) = MakeBatchPlanner;
  /// What `make` gives gradients of, for a device that computes them itself; null: it trains on the
  /// processor only.
  LossForm (*loss)(const AlgorithmSettings& settings) = nullptr;
  /// The experience that it needs: what becomes of batches as they are assembled. kResource: the
  /// machine has not so much memory left.
  Result<std::unique_ptr<ExperienceStore>> (*make_store)(const AlgorithmSettings& settings,
                                                         const StoreSetup& setup) =
      [](const AlgorithmSettings&, const StoreSetup&) -> Result<std::unique_ptr<ExperienceStore>> {
    return std::unique_ptr<ExperienceStore>(std::make_unique<OnPolicyStore>());
  };
  /// Bytes of the store's own memory, which it takes when it is made; null: none.
  std::size_t (*store_bytes)(const AlgorithmSettings& settings,
                             const TrajectoryLayout& layout) = nullptr;
};

}  // namespace murmurate
