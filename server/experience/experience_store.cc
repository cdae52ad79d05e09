#include "server/experience/experience_store.h"

#include "shared/core/check.h"

namespace murmurate {

void OnPolicyStore::Insert(std::unique_ptr<TrainingBatch> batch) {
  MURMURATE_CHECK(batch_ == nullptr, "the last batch was released");
  batch_ = std::move(batch);
  used_ = false;
}

void OnPolicyStore::Learned(bool learned, std::span<const float> /*row_answers*/) {
  used_ = true;
  if (learned) credit_ += batch_->trajectories.size();
}

std::unique_ptr<TrainingBatch> OnPolicyStore::Release() {
  if (batch_ == nullptr || !used_) return nullptr;
  batch_->Clear();
  return std::move(batch_);
}

}  // namespace murmurate
