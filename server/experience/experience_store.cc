#include "server/experience/experience_store.h"

#include "shared/core/check.h"

namespace murmurate {

Status ExperienceStore::Demonstrate(const RecordedPlay&) {
  MURMURATE_CHECK(false, "the store replays");
  return {};
}

void OnPolicyStore::Insert(std::unique_ptr<TrainingBatch> batch) {
  MURMURATE_CHECK(batch_ == nullptr, "the last batch was released");
  batch_ = std::move(batch);
  used_ = false;
}

void OnPolicyStore::Learned(const LearnedBatch& result) {
  used_ = true;
  if (!result.learned) return;
  counts_.credit += batch_->trajectories.size() - batch_->extra_slots;
  counts_.steps += result.steps;
  ++counts_.batches;
}

std::unique_ptr<TrainingBatch> OnPolicyStore::Release() {
  if (batch_ == nullptr || !used_) return nullptr;
  batch_->Clear();
  return std::move(batch_);
}

}  // namespace murmurate
