// ScoreMeans: the means of eval/loss and eval/accuracy over the rows that were scored last. Batches
// that are held out one after another count as one; a batch that is learned from begins anew.
#pragma once

#include "server/metrics/metric.h"
#include "server/metrics/reading.h"

namespace murmurate {

class ScoreMeans {
 public:
  /// `metrics` of `rows` scored rows; 0: none were. `held_out`: nothing was learned from them.
  void Add(const Measurements& metrics, double rows, bool held_out);
  void PutInto(Reading* reading) const;

 private:
  double rows_ = 0, loss_sum_ = 0, accuracy_sum_ = 0;
  bool held_out_ = false;  ///< the last batch was: the next one adds to the same mean
};

}  // namespace murmurate
