// ToUpdate: what a learning thread reports of a batch, as metrics of its model: operate knows
// nothing of learn.
#pragma once

#include <string>

#include "server/experience/experience_channel.h"
#include "server/learn/learner.h"
#include "server/operate/progress.h"
#include "shared/core/clock.h"

namespace murmurate {

/// The learner's report with what its channel has counted so far. `steps`: learned with this
/// batch, and taken by actors until its learning began; later steps belong to the next report.
TrainingUpdate ToUpdate(const std::string& model, ExperienceChannel& channel,
                        const LearnReport& report, StepCount steps,
                        std::int64_t now_ns = MonotonicNs());

}  // namespace murmurate
