// AgentShape: what all agents of one model have alike once it has a spec: made with it, kept by the
// buffers that was made for it.
#pragma once

#include <memory>
#include <utility>

#include "client/policy_set.h"
#include "shared/inference/action_head.h"
#include "shared/model/observation_layout.h"
#include "shared/trajectory/frame_stack.h"

namespace murmurate {

struct AgentShape {
  explicit AgentShape(std::shared_ptr<PolicySet> played)
      : policies(std::move(played)),
        head(ActionLayout(policies->spec().spaces.action, policies->spec().continuous)),
        stack(policies->spec()),
        row_bytes(ObservationLayout(policies->spec().spaces.observation).row_bytes()) {}

  const std::shared_ptr<PolicySet> policies;  ///< never null; may be empty: no weights yet
  const ActionHead head;
  const FrameStack stack;
  const std::size_t row_bytes;  ///< of a row as recorded, before it is stacked
};

}  // namespace murmurate
