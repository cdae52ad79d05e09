#pragma once
#include "server/experience/experience_store.h"
#include "server/replay/replay_settings.h"
namespace murmurate {
class ReplayStore : public ExperienceStore {
 public:
  ReplayStore(const ReplaySettings& settings, const StoreSetup& setup);
  void Insert(std::unique_ptr<TrainingBatch> batch) override;
  TrainingBatch* Next() override;
  void Learned(const LearnedBatch& result) override;
  std::unique_ptr<TrainingBatch> Release() override;
  StoreCounts counts() const override;
};
}
