#include "tests/ledger/ledger.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <string>

#include "server/learn/replay_algorithm.h"
#include "server/learn/replay_planner.h"
#include "shared/core/check.h"
#include "shared/model/policy_and_value.h"

namespace murmurate {
namespace {

constexpr char kNetwork[] = "ledger";
constexpr int kParts = 4, kPartBits = 16;  ///< of a sum

/// Mixes a number into a hash (the finalizer of splitmix64).
std::uint64_t Mix(std::uint64_t hash, std::uint64_t number) {
  std::uint64_t mixed = hash + 0x9e3779b97f4a7c15u + number;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
  return mixed ^ (mixed >> 31);
}

/// One update of all rows that weigh, of new batches and of samples.
class LedgerPlanner : public Planner {
 public:
  const BatchPlan& Plan(const TrainingBatch& batch, const Rates& rates, std::uint64_t learned_steps,
                        double rate_factor) override {
    plan_ = {};
    plan_.learning_rate = rate_factor * rates.learning_rate.At(learned_steps);
    for (std::size_t slot = 0; slot < batch.trajectories.size(); ++slot) {
      plan_.slots.push_back(static_cast<int>(slot));
      const std::int32_t first = static_cast<std::int32_t>(slot) * batch.length;
      for (std::int32_t row = first; row < first + batch.trajectories[slot].steps; ++row)
        if (batch.weight[row] > 0.0f) plan_.rows.push_back(row);
    }
    plan_.order = plan_.rows;
    plan_.updates = {{.first = 0, .count = plan_.order.size()}};
    plan_.updates_a_pass = 1;
    return plan_;
  }
  const BatchPlan& plan() const override { return plan_; }
  void Began(std::size_t) override {}
  void Save(const StateWriter&) const override {}
  Status Load(const StateReader&) override { return {}; }

 private:
  BatchPlan plan_;
};

class Ledger : public Algorithm {
 public:
  explicit Ledger(const ModelSpec& spec)
      : layout_(spec), slot_(layout_.Find(std::string(kNetwork) + ".head.bias")) {}

  void Prepare(std::span<const float>, const TrainingBatch& batch, const BatchPlan& plan) override {
    batch_ = &batch;
    plan_ = &plan;
  }
  bool Gradient(std::size_t update, std::span<const float> parameters,
                std::span<float> gradient) override {
    const auto before = parameters.subspan(slot_.offset, slot_.count);
    LedgerSums sums = LedgerSums::Of(before);
    const bool samples = batch_->samples == TrainingBatch::Samples::kReplayed;
    const PlannedUpdate& planned = plan_->updates[update];
    for (const std::int32_t row : std::span(plan_->order).subspan(planned.first, planned.count))
      (samples ? sums.sampled : sums.inserted)
          .Add(HashOfStep(batch_->View(row / batch_->length), row % batch_->length));
    std::ranges::fill(gradient, 0.0f);
    const auto difference = gradient.subspan(slot_.offset, slot_.count);
    sums.CopyTo(difference);
    for (std::size_t i = 0; i < difference.size(); ++i) difference[i] = before[i] - difference[i];
    return true;
  }
  void Score(std::size_t, std::span<const float>) override {
    MURMURATE_CHECK(false, "nothing is held out");
  }
  const AlgorithmSums& sums() const override { return sums_; }
  const ParameterLayout& layout() const override { return layout_; }

 private:
  const ParameterLayout layout_;
  const TensorSlot slot_;
  const TrainingBatch* batch_ = nullptr;
  const BatchPlan* plan_ = nullptr;
  const AlgorithmSums sums_{};
};

Result<ModelSpec> NetworksOf(ModelSpec spec, const AlgorithmSettings&) {
  NetworkSpec policy = spec.networks.front();
  spec.networks = {policy, {.name = kNetwork, .trained = true, .outputs = LedgerSums::kNumbers}};
  return spec;
}

}  // namespace

LedgerSums LedgerSums::Of(std::span<const float> numbers) {
  LedgerSums sums;
  auto number = numbers.begin();
  for (std::uint64_t* sum :
       {&sums.inserted.count, &sums.inserted.hash, &sums.sampled.count, &sums.sampled.hash})
    for (int part = 0; part < kParts; ++part)
      *sum |= static_cast<std::uint64_t>(*number++) << (kPartBits * part);
  return sums;
}

void LedgerSums::CopyTo(std::span<float> numbers) const {
  auto number = numbers.begin();
  for (const std::uint64_t sum : {inserted.count, inserted.hash, sampled.count, sampled.hash})
    for (int part = 0; part < kParts; ++part)
      *number++ = static_cast<float>(sum >> (kPartBits * part) & 0xffff);
}

LedgerSums LedgerSums::In(const ModelSpec& spec, std::span<const float> parameters) {
  const ParameterLayout layout(spec);
  const TensorSlot& slot = layout.Find(std::string(kNetwork) + ".head.bias");
  return Of(parameters.subspan(slot.offset, slot.count));
}

std::uint64_t HashOfStep(const TrajectoryView& view, int i) {
  const auto step = static_cast<std::size_t>(i), steps = static_cast<std::size_t>(view.steps);
  std::uint64_t hash = Mix(Mix(0, view.agent), view.first_step + step);
  const std::size_t bytes = view.observation.size() / steps;
  const std::byte* const seen = view.observation.data() + step * bytes;
  for (std::size_t at = 0; at < bytes; at += sizeof(std::uint32_t)) {
    std::uint32_t word = 0;
    std::memcpy(&word, seen + at, sizeof word);
    hash = (hash ^ word) * 0x100000001b3u;  // FNV-1a, of words
  }
  const std::size_t words = view.action.size() / steps;
  for (const std::int32_t word : view.action.subspan(step * words, words))
    hash = Mix(hash, static_cast<std::uint32_t>(word));
  return Mix(Mix(hash, std::bit_cast<std::uint32_t>(view.reward[step])), view.flags[step]);
}

const AlgorithmKind& LedgerKind() {
  static const AlgorithmKind kKind = [] {
    AlgorithmKind kind = ReplayKind(kNetwork, {});
    kind.values = false;
    kind.defaults = {{"algorithm", "trajectory_length", std::int64_t{32}},
                     {"algorithm", "batch_steps", std::int64_t{256}},
                     {"algorithm", "epochs", std::int64_t{1}},
                     {"algorithm", "max_grad_norm", 0.0},
                     {"algorithm", "normalize_reward", false},
                     {"optimizer", "name", std::string("sgd")},
                     {"optimizer", "learning_rate", 1.0}};
    kind.metrics = {};
    kind.networks = NetworksOf;
    kind.make = [](const ModelSpec& spec, const AlgorithmSettings&) -> std::unique_ptr<Algorithm> {
      return std::make_unique<Ledger>(spec);
    };
    kind.make_planner = [](const ModelSpec&, const AlgorithmSettings&,
                           std::uint64_t) -> std::unique_ptr<Planner> {
      return std::make_unique<LedgerPlanner>();
    };
    return kind;
  }();
  return kKind;
}

}  // namespace murmurate
