#include "server/learn/ppo.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "server/learn/returns.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

/// The i-th of `parts` nearly equal pieces of n starts here.
std::size_t Border(std::size_t n, std::size_t parts, std::size_t i) { return n * i / parts; }

struct Moments {
  double mean = 0.0, variance = 0.0;
};

std::size_t DeviationOffset(const ParameterLayout& layout, const ActionLayout& action) {
  return action.free_deviations() == 0 ? 0 : layout.Find("policy.log_deviation").offset;
}

template <typename ValueOf>
Moments MomentsOf(std::span<const std::int32_t> rows, ValueOf value_of) {
  Moments moments;
  for (const std::int32_t row : rows) moments.mean += value_of(row);
  moments.mean /= static_cast<double>(rows.size());
  for (const std::int32_t row : rows) {
    const double distance = value_of(row) - moments.mean;
    moments.variance += distance * distance;
  }
  moments.variance /= static_cast<double>(rows.size());
  return moments;
}

}  // namespace

Ppo::Ppo(const ModelSpec& spec, const PpoSettings& settings, std::uint64_t seed)
    : settings_(settings),
      stack_(spec),
      action_layout_(spec.spaces.action, spec.continuous),
      head_(action_layout_),
      row_words_(stack_.row_bytes() / sizeof(float)),
      network_(spec, settings.minibatch),
      deviation_(DeviationOffset(network_.layout(), action_layout_)),
      random_(seed),
      observation_(settings.minibatch * row_words_),
      outputs_(static_cast<std::size_t>(settings.minibatch) * action_layout_.outputs()),
      values_(settings.minibatch),
      log_prob_(settings.minibatch),
      entropy_(settings.minibatch),
      d_outputs_(outputs_.size()),
      d_values_(settings.minibatch),
      d_log_prob_(settings.minibatch),
      d_entropy_(settings.minibatch),
      d_deviations_(action_layout_.free_deviations()),
      minibatch_log_prob_(settings.minibatch),
      minibatch_advantage_(settings.minibatch),
      minibatch_target_(settings.minibatch),
      minibatch_weight_(settings.minibatch),
      minibatch_action_(static_cast<std::size_t>(settings.minibatch) * action_layout_.words()),
      minibatch_mask_(static_cast<std::size_t>(settings.minibatch) * action_layout_.mask_bytes()),
      history_(stack_.depth() + 1) {
  const std::size_t rows = static_cast<std::size_t>(settings.batch_steps);
  for (auto* column : {&value_, &next_value_, &log_ratio_, &target_, &advantage_}) {
    column->resize(rows);
  }
  places_.reserve(rows / settings.trajectory_length);
  rows_.reserve(rows);
  successors_.reserve(rows);
  successor_row_.reserve(rows);
}

void Ppo::TakeUp(std::span<const float> parameters, const TrainingBatch& batch,
                 std::uint64_t environment_steps) {
  MURMURATE_CHECK(batch.rows() <= settings_.batch_steps &&
                      batch.layout.frames + 1 == stack_.depth() &&
                      batch.layout.action.words() == action_layout_.words(),
                  "a batch must have the rows and columns the algorithm was made for");
  batch_ = &batch;
  loss_settings_ = {.clip = static_cast<float>(settings_.clip.At(environment_steps)),
                    .entropy = static_cast<float>(settings_.entropy.At(environment_steps)),
                    .value_weight = static_cast<float>(settings_.value_weight)};
  sums_ = {};
  explained_variance_ = 0.0;
  epoch_ = -1;
  OrderRows(batch);
  next_row_ = rows_.size();
  if (rows_.empty()) return;
  EvaluateRows(parameters);
  EvaluateSuccessors(parameters);
  ComputeReturns();
  NormalizeAdvantages();
  ExplainVariance();
}

void Ppo::OrderRows(const TrainingBatch& batch) {
  const auto& trajectories = batch.trajectories;
  places_.clear();
  rows_.clear();
  for (int place = 0; place < static_cast<int>(trajectories.size()); ++place) {
    if (trajectories[place].steps > 0 && batch.weight[place * batch.length] > 0.0f) {
      places_.push_back(place);
    }
  }
  std::sort(places_.begin(), places_.end(), [&](int a, int b) {
    return std::pair(trajectories[a].agent, trajectories[a].first_step) <
           std::pair(trajectories[b].agent, trajectories[b].first_step);
  });
  for (const int place : places_) {
    for (int step = 0; step < trajectories[place].steps; ++step) {
      rows_.push_back(place * batch.length + step);
    }
  }
}

void Ppo::EvaluateRows(std::span<const float> parameters) {
  const std::span<const std::int32_t> all = rows_;
  for (std::size_t begin = 0; begin < all.size(); begin += settings_.minibatch) {
    const auto rows =
        all.subspan(begin, std::min<std::size_t>(settings_.minibatch, all.size() - begin));
    const int count = static_cast<int>(rows.size());
    Gather(rows);
    network_.Forward(parameters, observation_.data(), count, outputs_.data(), values_.data());
    head_.Evaluate(Actions(parameters, count), log_prob_.data(), nullptr);
    for (int i = 0; i < count; ++i) {
      value_[rows[i]] = values_[i];
      log_ratio_[rows[i]] = log_prob_[i] - minibatch_log_prob_[i];
    }
  }
}

void Ppo::EvaluateSuccessors(std::span<const float> parameters) {
  const TrainingBatch& batch = *batch_;
  successors_.clear();
  successor_row_.clear();
  const auto add = [&](std::int32_t row, const std::byte* observation) {
    successor_row_.push_back(row);
    successors_.push_back(observation);
  };
  for (const int place : places_) {
    const std::int32_t first = place * batch.length;
    const std::int32_t last = first + batch.trajectories[place].steps - 1;
    for (std::int32_t row = first; row < last; ++row) next_value_[row] = value_[row + 1];
    auto final = std::lower_bound(batch.final_row.begin(), batch.final_row.end(), first);
    for (; final != batch.final_row.end() && *final <= last; ++final) {
      add(*final, batch.FinalRow(static_cast<std::size_t>(final - batch.final_row.begin())));
    }
    next_value_[last] = 0.0f;
    if ((batch.flags[last] & (kTerminatedFlag | kTruncatedFlag)) == 0) {
      add(last, batch.NextRow(static_cast<std::size_t>(place)));
    }
  }
  for (std::size_t begin = 0; begin < successors_.size(); begin += settings_.minibatch) {
    const std::size_t count =
        std::min<std::size_t>(settings_.minibatch, successors_.size() - begin);
    for (std::size_t i = 0; i < count; ++i) {
      PutObservation(i, successor_row_[begin + i], successors_[begin + i]);
    }
    network_.Forward(parameters, observation_.data(), static_cast<int>(count), outputs_.data(),
                     values_.data());
    for (std::size_t i = 0; i < count; ++i) next_value_[successor_row_[begin + i]] = values_[i];
  }
}

void Ppo::ComputeReturns() {
  if (settings_.staleness == StalenessPolicy::kDrop) {
    std::fill(log_ratio_.begin(), log_ratio_.end(), 0.0f);
  }
  const VtraceSettings vtrace{settings_.gamma, settings_.lambda, settings_.rho_bar,
                              settings_.c_bar};
  for (const int place : places_) {
    const std::size_t first = static_cast<std::size_t>(place) * batch_->length;
    const std::size_t steps = static_cast<std::size_t>(batch_->trajectories[place].steps);
    const auto part = [&](auto& column) { return std::span(column.data() + first, steps); };
    Vtrace(vtrace, part(log_ratio_), part(batch_->reward), part(batch_->flags), part(value_),
           part(next_value_), part(target_), part(advantage_));
  }
}

void Ppo::NormalizeAdvantages() {
  const Moments moments =
      MomentsOf(rows_, [&](std::int32_t row) { return double{advantage_[row]}; });
  const double scale = 1.0 / (std::sqrt(moments.variance) + 1e-8);
  for (const std::int32_t row : rows_) {
    advantage_[row] = static_cast<float>((advantage_[row] - moments.mean) * scale);
  }
}

void Ppo::ExplainVariance() {
  const Moments target = MomentsOf(rows_, [&](std::int32_t row) { return double{target_[row]}; });
  const Moments error = MomentsOf(
      rows_, [&](std::int32_t row) { return double{target_[row]} - double{value_[row]}; });
  explained_variance_ = target.variance > 0.0 ? 1.0 - error.variance / target.variance : 0.0;
}

bool Ppo::NextMinibatch(std::span<const std::int32_t>* rows) {
  if (next_row_ == rows_.size()) {
    if (rows_.empty() || ++epoch_ >= settings_.epochs) return false;
    next_row_ = 0;
    for (std::size_t i = rows_.size() - 1; i > 0; --i) {
      std::swap(rows_[i], rows_[random_.UniformInt(static_cast<std::uint32_t>(i + 1))]);
    }
  }
  // Pieces of nearly equal size: a last one of a few rows would be a step in a random direction.
  const std::size_t minibatch = static_cast<std::size_t>(settings_.minibatch);
  const std::size_t left = rows_.size() - next_row_;
  const std::size_t parts = (left + minibatch - 1) / minibatch;
  *rows = std::span<const std::int32_t>(rows_).subspan(next_row_, Border(left, parts, 1));
  next_row_ += rows->size();
  return true;
}

ActionRows Ppo::Actions(std::span<const float> parameters, int rows) const {
  return {.rows = rows,
          .outputs = outputs_.data(),
          .log_deviations =
              action_layout_.free_deviations() == 0 ? nullptr : parameters.data() + deviation_,
          .actions = minibatch_action_.data(),
          .mask = batch_->masked ? minibatch_mask_.data() : nullptr};
}

void Ppo::PutObservation(std::size_t i, std::int32_t row, const std::byte* successor) {
  auto* to = reinterpret_cast<std::byte*>(observation_.data() + i * row_words_);
  if (stack_.depth() == 1) {
    std::memcpy(to, successor != nullptr ? successor : batch_->ObservationRow(row),
                row_words_ * sizeof(float));
    return;
  }
  // What followed a row has that row's history behind it.
  const std::span<const std::byte*> rows(history_);
  const std::size_t depth = rows.size() - 1;
  rows[0] = successor;
  batch_->History(row, rows.subspan(1));
  stack_.Assemble(successor != nullptr ? rows.first(depth) : rows.subspan(1), to);
}

void Ppo::Gather(std::span<const std::int32_t> rows) {
  const std::size_t words = static_cast<std::size_t>(action_layout_.words());
  const std::size_t masks = batch_->masked ? action_layout_.mask_bytes() : 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::size_t row = static_cast<std::size_t>(rows[i]);
    PutObservation(i, rows[i], nullptr);
    std::copy_n(&batch_->action[row * words], words, &minibatch_action_[i * words]);
    std::copy_n(batch_->mask.data() + row * masks, masks, minibatch_mask_.data() + i * masks);
    minibatch_log_prob_[i] = batch_->log_prob[row];
    minibatch_advantage_[i] = advantage_[row];
    minibatch_target_[i] = target_[row];
    minibatch_weight_[i] = batch_->weight[row];
  }
}

PpoActionRows Ppo::Minibatch(int rows) const {
  return {.rows = rows,
          .log_prob = log_prob_.data(),
          .entropy = entropy_.data(),
          .values = values_.data(),
          .behaviour_log_prob = minibatch_log_prob_.data(),
          .advantage = minibatch_advantage_.data(),
          .value_target = minibatch_target_.data(),
          .weight = minibatch_weight_.data()};
}

bool Ppo::NextGradient(std::span<const float> parameters, std::span<float> gradient) {
  std::span<const std::int32_t> rows;
  if (!NextMinibatch(&rows)) return false;
  const int count = static_cast<int>(rows.size());
  Gather(rows);
  network_.Forward(parameters, observation_.data(), count, outputs_.data(), values_.data());
  const ActionRows actions = Actions(parameters, count);
  head_.Evaluate(actions, log_prob_.data(), entropy_.data());
  const PpoLossSums sums = PpoActionLoss(loss_settings_, Minibatch(count), d_log_prob_.data(),
                                         d_entropy_.data(), d_values_.data());
  Count(sums);
  if (settings_.target_kl > 0.0 && sums.approx_kl > 1.5 * settings_.target_kl * sums.weight) {
    rows_.clear();
    next_row_ = 0;
    return false;
  }
  head_.Gradient(actions, d_log_prob_.data(), d_entropy_.data(), d_outputs_.data(),
                 d_deviations_.data());
  network_.Backward(parameters, d_outputs_.data(), d_values_.data(), gradient);
  std::copy(d_deviations_.begin(), d_deviations_.end(), gradient.begin() + deviation_);
  return true;
}

void Ppo::Count(const PpoLossSums& sums) {
  sums_.weight += sums.weight;
  sums_.policy_loss += sums.policy_loss;
  sums_.value_loss += sums.value_loss;
  sums_.entropy += sums.entropy;
  sums_.approx_kl += sums.approx_kl;
  sums_.clipped += sums.clipped;
}

void Ppo::Report(LearnReport* report) const {
  report->clip_range = loss_settings_.clip;
  report->explained_variance = explained_variance_;
  if (sums_.weight <= 0.0) return;
  report->policy_loss = sums_.policy_loss / sums_.weight;
  report->value_loss = sums_.value_loss / sums_.weight;
  report->entropy = sums_.entropy / sums_.weight;
  report->approx_kl = sums_.approx_kl / sums_.weight;
  report->clip_fraction = sums_.clipped / sums_.weight;
}

}  // namespace murmurate
