// FailingTrainer: trains as HostTrainer does until its processor fails, as a device may.
#pragma once

#include "server/learn/host_trainer.h"

namespace murmurate {

class FailingTrainer : public HostTrainer {
 public:
  /// Fails in the batch after `batches`.
  FailingTrainer(const ModelSpec& spec, const AlgorithmSettings& settings, int batches,
                 std::unique_ptr<ParameterStore> store = nullptr)
      : HostTrainer(spec, settings, std::move(store)), left_(batches) {}

  BatchSums Finish() override { return --left_ < 0 ? BatchSums{} : HostTrainer::Finish(); }
  Status Health() const override {
    return left_ < 0 ? ResourceError("cuda:0: an illegal address was used") : Status();
  }
  std::string Progress() const override { return "update 3 of 80"; }

 private:
  int left_;
};

}  // namespace murmurate
