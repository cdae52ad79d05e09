// Weights: how published parameters get from the learner to whoever plays with them.
//
// Two ways behind one interface: shared memory on the same host (shared_memory_weights.h), and over
// the network (network_weights.h: announcement on PUB/SUB, the body pulled in chunks). Both carry
// the same payload: a 64-byte preamble (act settings, counts), then the policy section, then the
// statistics.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "murmurate/status.h"
#include "shared/core/aligned_floats.h"
#include "shared/model/act_settings.h"
#include "shared/model/model_spec.h"
#include "shared/transport/shared_segment.h"

namespace murmurate {

/// One published version of one model: immutable once made, shared by whoever needs it.
struct Snapshot {
  std::uint64_t version = 0;
  ActSettings act;
  AlignedFloats parameters;  ///< the whole flat block
};

/// Which published parameters: versions are ordered only within one incarnation.
struct VersionStamp {
  std::uint64_t incarnation = 0;
  std::uint64_t version = 0;  ///< 0: nothing yet
  friend bool operator==(const VersionStamp&, const VersionStamp&) = default;
};

/// The published payload of a version, as received.
struct ReceivedWeights {
  VersionStamp stamp;
  ActSettings act;
  AlignedFloats payload;          ///< preamble and floats as they came; reused between receptions
  std::span<const float> policy;  ///< into payload
  std::span<const float> statistics;  ///< into payload
};

std::size_t PayloadBytes(const ParameterLayout& layout);
/// Writes preamble, policy and statistics of `snapshot` into `payload` (PayloadBytes long).
void WritePayload(const ParameterLayout& layout, const Snapshot& snapshot,
                  std::span<std::byte> payload);
/// Checks the preamble against `layout` and points policy and statistics into received->payload.
Status ReadPayload(const ParameterLayout& layout, ReceivedWeights* received);

/// The learner's end. One thread (mmr-publish) calls Publish.
class WeightPublisher {
 public:
  virtual ~WeightPublisher() = default;
  virtual Status Publish(const Snapshot& snapshot) = 0;
};

/// The player's end. One thread (mmr-weights) calls TakeNewer.
class WeightSubscriber {
 public:
  virtual ~WeightSubscriber() = default;
  /// Copies the newest whole version into `into` if it is not `known`; false when there is nothing
  /// newer, or none could be copied whole in three tries (the caller keeps what it has). Never
  /// waits.
  virtual bool TakeNewer(const VersionStamp& known, ReceivedWeights* into) = 0;
  /// Changes and is woken (WakeAll) whenever something newer may be there.
  virtual const FutexWord* word() const = 0;
  /// False when the writer is known to be dead: nothing newer will come this way.
  virtual bool writer_alive() const = 0;
};

}  // namespace murmurate
