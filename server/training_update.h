// ToUpdate: what a learning thread reports of a batch, in the words of operate, which knows nothing
// of learn.
#pragma once

#include <string>

#include "server/learn/learner.h"
#include "server/operate/progress.h"
#include "shared/experience/experience_channel.h"

namespace murmurate {

/// The learner's report with what its channel has counted so far.
TrainingUpdate ToUpdate(const std::string& model, const ExperienceChannel& channel,
                        const LearnReport& report);

}  // namespace murmurate
