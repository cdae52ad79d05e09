#include "server/operate/score_means.h"

#include "server/metrics/model_metrics.h"

namespace murmurate {

void ScoreMeans::Add(const Measurements& metrics, double rows, bool held_out) {
  if (rows > 0) {
    if (!(held_out_ && held_out)) rows_ = loss_sum_ = accuracy_sum_ = 0;
    rows_ += rows;
    for (const auto& [metric, value] : metrics) {
      if (metric == &kEvalLoss) loss_sum_ += rows * value;
      if (metric == &kEvalAccuracy) accuracy_sum_ += rows * value;
    }
  }
  held_out_ = held_out;
}

void ScoreMeans::PutInto(Reading* reading) const {
  if (rows_ <= 0) return;
  reading->Set(kEvalLoss, loss_sum_ / rows_);
  reading->Set(kEvalAccuracy, accuracy_sum_ / rows_);
}

}  // namespace murmurate
