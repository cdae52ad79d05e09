// SampleForm: which steps make a sample that begins at a given one.
#pragma once

#include "server/replay/replay_settings.h"

namespace murmurate {

/// A window is up to `length` consecutive steps of one agent, and the step that ends its episode is
/// its last. A sequence begins where a chunk does, and runs over the ends of episodes. Both end
/// where the chain does.
struct SampleForm {
  explicit SampleForm(const ReplaySettings& settings, bool of_places = false)
      : length(settings.steps_of_sample()), sequence(settings.sequence > 0), places(of_places) {}

  int length;
  bool sequence;
  bool places;  ///< a row of an observation is the word of its place (KeptRows)
};

}  // namespace murmurate
