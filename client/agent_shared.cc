#include "client/agent_shared.h"

#include <utility>

namespace murmurate {

AgentShared::AgentShared(std::shared_ptr<ClientModel> model, std::uint32_t number, int rows)
    : model_(std::move(model)), number_(number), rows_(rows) {}

void AgentShared::Fit(std::unique_ptr<AgentBuffers> buffers) {
  std::lock_guard lock(all_buffers_mutex_);
  all_buffers_.push_back(std::move(buffers));
  buffers_.store(all_buffers_.back().get(), std::memory_order_release);
}

bool AgentShared::PopComplaint(std::string* sentence) {
  const std::optional<Trouble> kind = troubles_.PopNew();
  if (!kind.has_value()) return false;
  *sentence = troubles_.WordsFor(*kind, *model_);
  return true;
}

void AgentShared::Complain(Trouble kind, const AgentTroubles::Detail& detail) {
  if (troubles_.noted(kind)) return;
  troubles_.Note(kind, detail);
  model_->wakeup->complained.store(true, std::memory_order_release);
}

void AgentShared::Close() {
  // guard: Client.AgentsThatCloseAreHandedOverAndLeaveTheSession,
  //   Client.AgentsThatComeAndGoInHasteAreAllHeard (1 to 5 of 5): an agent reports that it is
  //   closed after its last hand-over
  closed_.store(true, std::memory_order_release);
  model_->wakeup->registry_changed.store(true, std::memory_order_release);
  model_->wakeup->wake.Set();
}

}  // namespace murmurate
