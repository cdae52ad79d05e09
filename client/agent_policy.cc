#include "client/agent_policy.h"

#include <utility>

namespace murmurate {

void AgentPolicy::Attach(AgentBuffers* buffers) {
  // Only another model makes an agent forget.
  if (fitted_ != nullptr && fitted_->memory != buffers->memory &&
      fitted_->policies->spec() == buffers->policies->spec()) {
    std::swap(buffers->memory, fitted_->memory);
  }
  fitted_ = buffers;
  playing_ = drawn_ = false;
  hold_ = {};
}

VersionStamp AgentPolicy::ChooseNewest(bool greedy, std::uint32_t agent) {
  hold_ = {};
  settings_ = {};
  VersionStamp stamp;
  if (fitted_ != nullptr && fitted_->policies && fitted_->policies->PinLatest(&pin_, &hold_)) {
    // The policy of a file has no version.
    if (hold_.buffer->stamp.incarnation != 0) stamp = hold_.buffer->stamp;
    settings_ = hold_.buffer->act;
    settings_.epsilon = EpsilonOf(settings_, agent);
    PolicySet::Unpin(&pin_);
  }
  pin_.playing.store(hold_.buffer, std::memory_order_relaxed);
  if (greedy) settings_.mode = ActSettings::Mode::kGreedy;
  playing_ = true;
  return stamp;
}

}  // namespace murmurate
