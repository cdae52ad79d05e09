#include "server/operate/operate_settings.h"

#include "server/schema/settings_keys.h"

namespace murmurate {

const Keys<CheckpointSettings>& CheckpointKeys() {
  using namespace keys;
  using S = CheckpointSettings;
  static const Keys<S> kKeys(
      "checkpoint",
      {{"every_steps", &S::every_steps, "learned from, from one to the next; 0: not by steps",
        Example("100000"), Range(0, kMany)},
       {"every_s", &S::every_s,
        "seconds from one to the next, so much a crash can cost; 0: not by time",
        Range(0, 31'536'000)},
       {"keep", In(&S::retention, &Retention::keep), "the newest that stay", Range(1, 1 << 20)},
       {"keep_every", In(&S::retention, &Retention::keep_every),
        "and the first after each multiple of so many steps; 0: none", Example("1000000"),
        Range(0, kMany)}});
  return kKeys;
}

const Keys<EvaluationSettings>& EvaluationKeys() {
  using namespace keys;
  using S = EvaluationSettings;
  static const Keys<S> kKeys(
      "evaluation",
      {{"episodes", &S::episodes, "without exploration, of frozen weights", Range(1, 1e6)},
       {"every", &S::every, "of run.steps, and at the end; 0: never", Range(0, 1)},
       {"share", &S::share,
        "of the episodes that actors play, where the learner does not evaluate: without "
        "exploration, and not learned from; 0: none",
        Range(0, 0.5)}});
  return kKeys;
}

const Keys<MetricsSettings>& MetricsKeys() {
  using S = MetricsSettings;
  static const Keys<S> kKeys(
      "metrics",
      {{"tensorboard", &S::tensorboard, "event files in the run's folder, for TensorBoard"},
       {"json_lines", &S::json_lines, "metrics.jsonl there: a row's numbers as a JSON object"},
       {"parameters", &S::parameters,
        "histograms of each tensor of a checkpoint, for TensorBoard, in parameters/"}});
  return kKeys;
}

}  // namespace murmurate
