#include "server/ingest/model_table.h"

#include <utility>

#include "server/ingest/offered_model.h"
#include "shared/core/clock.h"

namespace murmurate {

Result<std::uint32_t> ModelTable::Add(const std::string& name, const OfferedModel& offered) {
  Result<wire::SessionModel> model = ForSession(name, offered, shm_);
  if (!model.ok()) return model.status();
  const std::uint32_t number = session_->AddModel(*std::move(model));
  assemblies_.push_back(std::make_unique<Assembly>(name, offered, MonotonicNs()));
  numbers_.emplace(name, number);
  const ExperienceChannel& channel = assemblies_.back()->channel();
  session_->SetVersion(number, channel.version.load(std::memory_order_acquire));
  session_->SetLearned(number, channel.learned_steps.load(std::memory_order_acquire));
  return number;
}

std::optional<std::uint32_t> ModelTable::Find(const std::string& name) const {
  const auto found = numbers_.find(name);
  if (found == numbers_.end()) return std::nullopt;
  return found->second;
}

}  // namespace murmurate
