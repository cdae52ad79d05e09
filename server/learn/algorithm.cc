#include "server/learn/algorithm.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "server/learn/order_places.h"
#include "server/learn/returns.h"
#include "shared/core/check.h"
#include "shared/model/parameter_layout.h"

namespace murmurate {
namespace {

struct Moments {
  double mean = 0.0, variance = 0.0;
};

/// Of a lane: a trajectory and what followed each of its truncations and its end.
int LongestLane(const ModelSpec& spec, const AlgorithmSettings& settings) {
  const TrajectoryLayout layout(spec, settings.trajectory_length);
  return layout.length + layout.max_finals + 1;
}

int MostRows(const ModelSpec& spec, const AlgorithmSettings& settings, int lanes) {
  return std::max(settings.minibatch, lanes * LongestLane(spec, settings));
}

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

Algorithm::Algorithm(const ModelSpec& spec, const AlgorithmSettings& settings, std::uint64_t seed)
    : settings_(settings),
      rates_(Rates::Of(settings)),
      stack_(spec),
      action_layout_(spec.spaces.action, spec.continuous),
      head_(action_layout_),
      row_words_(stack_.row_bytes() / sizeof(float)),
      lanes_(spec.recurrent() ? std::max(1, settings.minibatch / settings.trajectory_length) : 0),
      burn_in_(recurrent() ? settings.burn_in : 0),
      one_pass_(!LearnsLabels(settings.name) && settings.epochs == 1 &&
                settings.minibatch >= settings.batch_steps && burn_in_ == 0),
      max_rows_(MostRows(spec, settings, lanes_)),
      network_(spec, max_rows_, settings.threads, LongestLane(spec, settings)),
      deviation_(DeviationOffset(network_.layout(), action_layout_)),
      random_(seed),
      observation_(max_rows_ * row_words_),
      outputs_(static_cast<std::size_t>(max_rows_) * action_layout_.outputs()),
      values_(max_rows_),
      log_prob_(max_rows_),
      entropy_(max_rows_),
      d_outputs_(outputs_.size()),
      d_values_(max_rows_),
      d_log_prob_(max_rows_),
      d_entropy_(max_rows_),
      d_deviations_(action_layout_.free_deviations()),
      minibatch_log_prob_(max_rows_),
      minibatch_start_(max_rows_),
      minibatch_advantage_(max_rows_),
      minibatch_target_(max_rows_),
      minibatch_weight_(max_rows_),
      minibatch_action_(static_cast<std::size_t>(max_rows_) * action_layout_.words()),
      minibatch_mask_(static_cast<std::size_t>(max_rows_) * action_layout_.mask_bytes()),
      history_(stack_.depth() + 1) {
  if (LearnsLabels(settings.name)) {
    using Numbers = LabelLoss::Numbers;
    label_loss_.emplace(
        action_layout_,
        settings.name == AlgorithmName::kBc ? Numbers::kLikelihood : Numbers::kSquaredError,
        max_rows_);
  }
  const std::size_t rows = static_cast<std::size_t>(settings.batch_steps);
  for (auto* column :
       {&value_, &next_value_, &log_ratio_, &target_, &advantage_, &start_log_prob_}) {
    column->resize(rows);
  }
  places_.reserve(rows / settings.trajectory_length);
  order_.reserve(places_.capacity());
  rows_.reserve(rows);
  slots_.reserve(std::max<std::size_t>(2 * rows, max_rows_));  // at most one successor each
  first_.reserve(max_rows_);
  lane_.resize(lanes_);
  for (auto& lane : lane_) lane.reserve(max_rows_ / lanes_);
  state_ = AlignedFloats(static_cast<std::size_t>(lanes_) * network_.state_floats());
  state_after_ = AlignedFloats(state_.size());
}

void Algorithm::TakeUp(std::span<const float> parameters, const TrainingBatch& batch,
                       std::uint64_t learned_steps) {
  MURMURATE_CHECK(batch.rows() <= settings_.batch_steps &&
                      batch.layout.frames + 1 == stack_.depth() &&
                      batch.layout.action.words() == action_layout_.words(),
                  "a batch must have the rows and columns the algorithm was made for");
  batch_ = &batch;
  loss_settings_ = {.clip = static_cast<float>(rates_.clip.At(learned_steps)),
                    .entropy = static_cast<float>(rates_.entropy.At(learned_steps)),
                    .value_weight = static_cast<float>(settings_.value_weight)};
  sums_ = {};
  label_sums_ = unseen_sums_ = {};
  explained_variance_ = lag_kl_ = 0.0;
  epoch_ = -1;
  OrderRows(batch);
  next_ = recurrent() ? order_.size() : rows_.size();
  if (rows_.empty() || label_loss_) return;
  Evaluate(parameters);
  MeasureLag();
  ComputeReturns();
  if (settings_.normalize_advantage) NormalizeAdvantages();
  ExplainVariance();
}

void Algorithm::OrderRows(const TrainingBatch& batch) {
  const auto& trajectories = batch.trajectories;
  rows_.clear();
  order_.clear();
  OrderPlaces(batch, &places_);
  for (const int place : places_) {
    for (int step = burn_in_; step < trajectories[place].steps; ++step) {
      const std::int32_t row = place * batch.length + step;
      if (batch.weight[row] > 0.0f) rows_.push_back(row);
    }
    if (recurrent() && trajectories[place].steps > burn_in_) order_.push_back(place);
  }
  taken_up_ = rows_.size();
}

void Algorithm::ComputeReturns() {
  if (settings_.staleness != StalenessPolicy::kVtrace) {
    std::fill(log_ratio_.begin(), log_ratio_.end(), 0.0f);
  }
  VtraceSettings vtrace{settings_.gamma, settings_.lambda, settings_.rho_bar, settings_.c_bar};
  if (settings_.name != AlgorithmName::kPpo) vtrace.rho_pg_bar = settings_.rho_pg_bar;
  for (const int place : places_) {
    const std::size_t first = static_cast<std::size_t>(place) * batch_->length;
    const std::size_t steps = static_cast<std::size_t>(batch_->trajectories[place].steps);
    const auto part = [&](auto& column) { return std::span(column.data() + first, steps); };
    Vtrace(vtrace, part(log_ratio_), part(batch_->reward), part(batch_->flags), part(value_),
           part(next_value_), part(target_), part(advantage_));
  }
}

void Algorithm::NormalizeAdvantages() {
  const Moments moments =
      MomentsOf(rows_, [&](std::int32_t row) { return double{advantage_[row]}; });
  const double scale = 1.0 / (std::sqrt(moments.variance) + 1e-8);
  for (const std::int32_t row : rows_) {
    advantage_[row] = static_cast<float>((advantage_[row] - moments.mean) * scale);
  }
}

void Algorithm::ExplainVariance() {
  const Moments target = MomentsOf(rows_, [&](std::int32_t row) { return double{target_[row]}; });
  const Moments error = MomentsOf(
      rows_, [&](std::int32_t row) { return double{target_[row]} - double{value_[row]}; });
  explained_variance_ = target.variance > 0.0 ? 1.0 - error.variance / target.variance : 0.0;
}

void Algorithm::MeasureLag() {
  for (const std::int32_t row : rows_) {
    const float ratio = std::exp(std::min(log_ratio_[row], 80.0f));  // finite for any claimed mu
    lag_kl_ += double{ratio} - 1.0 - double{log_ratio_[row]};
  }
  lag_kl_ /= static_cast<double>(rows_.size());
}

ActionRows Algorithm::Actions(std::span<const float> parameters, int rows) const {
  return {.rows = rows,
          .outputs = outputs_.data(),
          .log_deviations =
              action_layout_.free_deviations() == 0 ? nullptr : parameters.data() + deviation_,
          .actions = minibatch_action_.data(),
          .mask = batch_->masked ? minibatch_mask_.data() : nullptr};
}

PpoActionRows Algorithm::Minibatch(int rows) const {
  return {.rows = rows,
          .log_prob = log_prob_.data(),
          .entropy = entropy_.data(),
          .values = values_.data(),
          .behaviour_log_prob = minibatch_log_prob_.data(),
          .advantage = minibatch_advantage_.data(),
          .value_target = minibatch_target_.data(),
          .weight = minibatch_weight_.data(),
          .start_log_prob = minibatch_start_.data()};
}

bool Algorithm::NextGradient(std::span<const float> parameters, std::span<float> gradient) {
  if (!ForwardNext(parameters)) return false;
  if (label_loss_) return LabelGradient(parameters, gradient);
  const int count = static_cast<int>(slots_.size());
  const ActionRows actions = Actions(parameters, count);
  const PpoLossSums sums = Loss(count);
  Count(sums);
  if (settings_.target_kl > 0.0 && sums.approx_kl > 1.5 * settings_.target_kl * sums.weight) {
    rows_.clear();
    order_.clear();
    next_ = 0;
    return false;
  }
  head_.Gradient(actions, d_log_prob_.data(), d_entropy_.data(), d_outputs_.data(),
                 d_deviations_.data());
  network_.Backward(parameters, d_outputs_.data(), d_values_.data(), gradient);
  std::copy(d_deviations_.begin(), d_deviations_.end(), gradient.begin() + deviation_);
  return true;
}

bool Algorithm::LabelGradient(std::span<const float> parameters, std::span<float> gradient) {
  const ActionRows actions = Actions(parameters, static_cast<int>(slots_.size()));
  const LabelLossSums sums =
      label_loss_->Take(actions, minibatch_weight_.data(), d_outputs_.data(), d_deviations_.data());
  label_sums_.Add(sums);
  if (epoch_ == 0 && batch_->samples == TrainingBatch::Samples::kNew) unseen_sums_.Add(sums);
  network_.Backward(parameters, d_outputs_.data(), d_values_.data(), gradient);  // d_values_: 0
  std::copy(d_deviations_.begin(), d_deviations_.end(), gradient.begin() + deviation_);
  return true;
}

void Algorithm::Score(std::span<const float> parameters) {
  MURMURATE_CHECK(label_loss_, "only labels are held out");
  const Random before = random_;
  while (epoch_ < 1 && ForwardNext(parameters)) {
    if (epoch_ > 0) break;
    unseen_sums_.Add(label_loss_->Take(Actions(parameters, static_cast<int>(slots_.size())),
                                       minibatch_weight_.data(), nullptr, nullptr));
  }
  random_ = before;
}

PpoLossSums Algorithm::Loss(int rows) {
  switch (settings_.name) {
    case AlgorithmName::kSupervised:
    case AlgorithmName::kBc:
      break;  // LabelGradient
    case AlgorithmName::kImpala:
    case AlgorithmName::kA2c:
      return PolicyGradientLoss(loss_settings_, Minibatch(rows), d_log_prob_.data(),
                                d_entropy_.data(), d_values_.data());
    case AlgorithmName::kPpo:
      break;
  }
  return PpoActionLoss(loss_settings_, Minibatch(rows), d_log_prob_.data(), d_entropy_.data(),
                       d_values_.data());
}

void Algorithm::Count(const PpoLossSums& sums) {
  sums_.weight += sums.weight;
  sums_.policy_loss += sums.policy_loss;
  sums_.value_loss += sums.value_loss;
  sums_.entropy += sums.entropy;
  sums_.approx_kl += sums.approx_kl;
  sums_.clipped += sums.clipped;
}

Status Algorithm::Load(const StateReader& reader) {
  Random::Words saved;
  MURMURATE_RETURN_IF_ERROR(reader.Words("random", saved));
  random_.GoOnFrom(saved);
  return {};
}

void Algorithm::ReportLabels(LearnReport* report) const {
  const auto share = [](double part, double all) {
    return all > 0.0 ? part / all : std::numeric_limits<double>::quiet_NaN();
  };
  report->loss = share(label_sums_.loss, label_sums_.weight);
  report->accuracy = share(label_sums_.right, label_sums_.choices);
  report->error = share(label_sums_.distance, label_sums_.numbers);
  report->eval_rows = unseen_sums_.weight;
  report->eval_loss = share(unseen_sums_.loss, unseen_sums_.weight);
  report->eval_accuracy = share(unseen_sums_.right, unseen_sums_.choices);
}

void Algorithm::Report(LearnReport* report) const {
  report->trained_steps = batch_->samples == TrainingBatch::Samples::kHeldOut ? 0 : taken_up_;
  if (label_loss_) return ReportLabels(report);
  report->clip_range = settings_.name == AlgorithmName::kPpo ? loss_settings_.clip : 0.0;
  report->explained_variance = explained_variance_;
  report->lag_kl = lag_kl_;
  if (sums_.weight <= 0.0) return;
  report->policy_loss = sums_.policy_loss / sums_.weight;
  report->value_loss = sums_.value_loss / sums_.weight;
  report->entropy = sums_.entropy / sums_.weight;
  report->approx_kl = sums_.approx_kl / sums_.weight;
  report->clip_fraction = sums_.clipped / sums_.weight;
}

}  // namespace murmurate
