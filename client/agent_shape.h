// AgentShape: what all agents of one model have alike once it has a spec: made with it, kept by the
// buffers that was made for it.
#pragma once

#include <memory>
#include <utility>

#include "client/policy_set.h"
#include "shared/inference/action_head.h"
#include "shared/model/row_writer.h"
#include "shared/trajectory/frame_stack.h"

namespace murmurate {

struct AgentShape {
  explicit AgentShape(std::shared_ptr<PolicySet> played)
      : policies(std::move(played)),
        head(ActionLayout(policies->spec().spaces.action, policies->spec().continuous)),
        stack(policies->spec()),
        row(policies->spec()) {}

  const std::shared_ptr<PolicySet> policies;  ///< never null; may be empty: no weights yet
  const ActionHead head;
  const FrameStack stack;
  const RowWriter row;  ///< as recorded, before it is stacked
};

}  // namespace murmurate
