// ToUpdate: what a learning thread reports, in operate's words, which knows nothing of learn.
#pragma once

#include <string>

#include "server/learn/learner.h"
#include "server/operate/progress.h"
#include "shared/experience/experience_channel.h"

namespace murmurate {

TrainingUpdate ToUpdate(const std::string& model, const ExperienceChannel& channel,
                        const LearnReport& report);

}  // namespace murmurate
