// ModelFactory: makes the models of a daemon: for their first actor, for a stream or for files, or
// as they were in a checkpoint. On one thread at a time, which may be another later.
#pragma once

#include <memory>
#include <string>

#include "server/config/model_settings.h"
#include "server/daemon/live_models.h"
#include "server/daemon/resume_plan.h"
#include "server/daemon/run_parts.h"
#include "server/data/recorded_steps.h"

namespace murmurate {

class ModelFactory {
 public:
  /// Both must outlive this.
  ModelFactory(RunParts* parts, LiveModels* models) : parts_(*parts), models_(*models) {}

  /// Answers an actor that names a model which is not there.
  Result<OfferedModel> Offer(const std::string& name, const Spaces& spaces);
  Result<OfferedModel> Make(const std::string& name, const Spaces& spaces);
  /// Those that no checkpoint had.
  Status MakeStreams();
  Status Resume(const ResumedModel& resumed);
  /// resume.json: what a later life of the run goes on from.
  Status WriteRecord() const;

 private:
  Status FitToActors(const std::string& name, ModelSettings* settings) const;
  /// A learner, and where its batches lie.
  struct MadeLearner {
    std::unique_ptr<Learner> learner;
    std::shared_ptr<BatchMemory> memory;  ///< null: plain memory
  };
  Result<MadeLearner> MakeLearner(const std::string& name, const ModelSettings& settings);
  /// One that begins with weights of a file, if its config names one.
  Result<MadeLearner> MakeNewLearner(const std::string& name, const ModelSettings& settings);
  std::unique_ptr<ParameterStore> MakeStore(const std::string& name, const ModelSettings& settings);
  Result<OfferedModel> Accept(const std::string& name, const ModelSettings& settings,
                              MadeLearner made, StepCount steps,
                              const SavedState* resumed = nullptr);
  std::string StoreDirectory(const ModelSettings& settings, const std::string& name) const;
  Status AddSource(LiveModel* model, const ModelSettings& settings, const SavedState* resumed);
  Status AddStream(LiveModel* model, const StreamSettings& stream, const SavedState* resumed);
  Status AddRecording(LiveModel* model);
  Result<std::unique_ptr<RecordedSteps>> OpenDemonstrations(const std::string& name,
                                                            const ModelSettings& settings) const;

  RunParts& parts_;
  LiveModels& models_;
};

}  // namespace murmurate
