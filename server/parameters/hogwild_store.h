// HogwildStore: where several learners of one process step one block of parameters at once
// (hogwild.h), each on its own thread and with a store of its own beside the others.
//
//   thread 1   BeginBatch: x^   gradient  Step(x, x^)  gradient  Step(x, x^)   EndBatch: version 7
//   the block       x             |                       |
//   thread 2         gradient  Step(x, x^)   EndBatch: version 6   BeginBatch: x^ ...
//
// A gradient is clipped as LocalStore does, by the norm of all of it. Only plain steps are made:
// what an optimizer keeps would be one more block that threads write at once.
//
// A step waits for no other (hogwild.h). A batch begins and ends under a mutex, which is held while
// statistics of observations are copied or added, not while parameters are read.
//
// Versions are counted over all threads, one for each batch; one has the steps of all before it.
// What a thread has seen of observations in a batch is added to the shared statistics (Chan) when
// the batch ends; of one thread alone they are counted as LocalStore does, so that alone it has the
// bits of LocalStore with sgd.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "server/parameters/parameter_store.h"
#include "shared/core/aligned_floats.h"
#include "shared/model/model_spec.h"

namespace murmurate {

struct HogwildSettings {
  int threads = 1;
  bool locking = false;
};

class HogwildStore : public ParameterStore {
 public:
  /// The first of settings.threads. `max_grad_norm` 0: never clip.
  HogwildStore(const HogwildSettings& settings, const ModelSpec& spec, double max_grad_norm);
  ~HogwildStore() override;

  /// The first one of all stores gives the block its beginning: its own `parameters`.
  bool BeginBatch(std::span<float> parameters) override;
  double Step(double learning_rate, std::span<const float> gradient,
              std::span<float> parameters) override;
  std::span<float> ObservationsSeen(std::span<float> parameters) override;
  void EndBatch(std::span<float> parameters) override;
  void Refresh(std::span<float> parameters) override { (void)BeginBatch(parameters); }
  std::uint64_t VersionBegun(std::uint64_t own) override;
  std::uint64_t VersionMade(std::uint64_t own) override;
  std::unique_ptr<ParameterStore> SharedReplica() override;

  /// The steps of all threads, as Sgd saves its own.
  void Save(const StateWriter& writer) const override;
  Status Load(const StateReader& reader) override;
  std::uint64_t updates() const override;

 private:
  struct Shared;
  explicit HogwildStore(std::shared_ptr<Shared> shared);
  std::span<float> StatisticsOf(std::span<float> block) const;

  const std::shared_ptr<Shared> shared_;
  const int thread_;   ///< its number among those beside it
  AlignedFloats own_;  ///< a whole block, whose statistics are this batch's; empty: no need for it
  std::uint64_t made_ = 0;
};

}  // namespace murmurate
