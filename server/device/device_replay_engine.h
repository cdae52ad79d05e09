// DeviceReplayEngine: trains a model on a device by steps from a replay: what HostTrainer and an
// algorithm of replays do with them, a pass for each update, several passes enqueued without waiting.
//
//   Lay         the steps of a pass -> pinned memory
//   Run         passes -> device; of each: gather, forward, errors, and where it is an update loss,
//               backward, norm, clip, optimizer, targets; errors and counts -> host
//
// Each kind of pass is recorded once and replayed (recorded_step.h): what changes from one pass to the
// next is read from the control block and the lists of passes.
//
//   replay_passes.h        the steps of passes
//   device_replay_loss.h   networks, errors and gradients of an algorithm
//   device_parameters.h    parameters, gradient, optimizer; device_targets.h what follows them
#pragma once

#include <memory>
#include <span>

#include "server/compute/device/device.h"
#include "server/compute/device/device_memory.h"
#include "server/device/device_control.h"
#include "server/device/device_inputs.h"
#include "server/device/device_parameters.h"
#include "server/device/device_replay_loss.h"
#include "server/device/device_targets.h"
#include "server/device/recorded_step.h"
#include "server/device/replay_passes.h"
#include "shared/core/random.h"

namespace murmurate {

class DeviceReplayEngine {
 public:
  /// Plans memory; the loss form of settings.kind must be a replay's. `arithmetic`: of the device.
  DeviceReplayEngine(const ModelSpec& spec, const AlgorithmSettings& settings,
                     const DeviceArithmetic& arithmetic);
  ~DeviceReplayEngine();
  DeviceReplayEngine(const DeviceReplayEngine&) = delete;
  DeviceReplayEngine& operator=(const DeviceReplayEngine&) = delete;

  /// Allocates what was planned; once, before what follows. The device must outlive it.
  Status Start(Device* device);
  const DeviceMemory& memory() const { return memory_; }
  DeviceParameters& parameters() { return parameters_; }
  DeviceControl& control() { return control_; }
  /// How many passes Run takes at once, and how many steps a pass.
  const ReplayPasses& passes() const { return passes_; }

  /// Before passes of a batch are laid: what its replay has written (SentRows::Update).
  void Update(const TrainingBatch& batch) { passes_.sent().Update(batch); }
  /// A pass of the next Run, as ReplayPasses::Lay has it. The device is idle. Draws the noise of the
  /// steps, as server/learn's algorithm does: where returns end, and in an `update` at the steps, too.
  void Lay(int pass, const TrainingBatch& batch, std::span<const std::int32_t> rows,
           float target_part, bool update, Random* random);
  /// The first of a batch begins to count anew.
  void BeginBatch(double learning_rate);
  /// Enqueues the passes that were laid. `updates`: else only the errors of their steps are found.
  /// After the `last` updates of a batch, parameters and what the loss carries go to the host.
  void Run(int passes, bool updates, bool last);
  void Await() { control_.Await(); }
  /// After the last updates of a batch and Await: host() is what they left.
  void Adopt();
  /// After Await: the errors of a pass, of its places.
  std::span<const float> errors(int pass) const;
  /// After Await: the sums of the batch so far.
  const TrainingControl& result() const { return control_.host(); }
  std::span<const float> host() const { return parameters_.host(); }

  // Optimizer and loss, in sections of their own; these wait for the device.
  void Save(const StateWriter& optimizer, const StateWriter& algorithm);
  Status Load(const StateReader& optimizer, const StateReader& algorithm);

 private:
  DeviceReplayStep step() const;
  void Gather() const;
  void EnqueueUpdate();

  const ParameterLayout layout_;
  const int noise_;
  DeviceMemory memory_;
  DeviceControl control_;
  ReplayPasses passes_;
  DeviceInputs inputs_;
  const std::unique_ptr<DeviceReplayLoss> loss_;
  DeviceParameters parameters_;
  const DeviceTargets targets_;
  const DeviceArray<float> errors_;  ///< [passes][rows]
  std::unique_ptr<PinnedBlock> host_errors_;
  RecordedStep update_, look_;
  Device* device_ = nullptr;
};

}  // namespace murmurate
