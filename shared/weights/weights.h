// Weights: how published parameters get from the learner to the players.
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
#include "shared/model/parameter_layout.h"
#include "shared/transport/shared_segment.h"

namespace murmurate {

/// One published version of one model: immutable once made, shared by its users.
struct Snapshot {
  std::uint64_t version = 0;
  ActSettings act;
  AlignedFloats parameters;  ///< the whole flat block
};

/// VersionStamp names published parameters: versions are ordered only within one incarnation.
struct VersionStamp {
  std::uint64_t incarnation = 0;
  std::uint64_t version = 0;  ///< 0: nothing yet
  friend bool operator==(const VersionStamp&, const VersionStamp&) = default;
};

std::size_t PayloadBytes(const ParameterLayout& layout);
/// Writes preamble, policy and statistics of `snapshot` into `payload` (PayloadBytes long).
void WritePayload(const ParameterLayout& layout, const Snapshot& snapshot,
                  std::span<std::byte> payload);

/// A WeightSink receives a version piece by piece. No copy of the whole version is kept, so a
/// player holds no more than the packed buffers it plays from. Used by the thread that calls
/// ReceiveNewer.
class WeightSink {
 public:
  virtual ~WeightSink() = default;
  /// Begins a version; what was put since the last End is void.
  virtual void Begin() = 0;
  /// Stores its numbers from `first` on, policy and then statistics: in order, without gaps.
  virtual void Put(std::size_t first, std::span<const float> numbers) = 0;
  /// Ends a version that is whole: all of it was put. False when it did not begin here.
  virtual bool End(const VersionStamp& stamp, const ActSettings& act) = 0;
};

/// The learner's end. One thread (mmr-publish) calls Publish.
class WeightPublisher {
 public:
  virtual ~WeightPublisher() = default;
  virtual Status Publish(const Snapshot& snapshot) = 0;
};

/// The player's end. One thread (mmr-weights) calls ReceiveNewer.
class WeightSubscriber {
 public:
  virtual ~WeightSubscriber() = default;
  /// Puts what has come of the newest version into `into`, the same sink every time, if it is not
  /// `known`; true when that made a version whole. False when there is nothing newer, not all of it
  /// has come yet, or none could be copied whole in three tries (what the sink has ended stays).
  /// Never waits.
  virtual bool ReceiveNewer(const VersionStamp& known, WeightSink* into) = 0;
  /// Changes and is woken (WakeAll) whenever something newer may be there.
  virtual const FutexWord* word() const = 0;
  /// False when the writer is known to be dead: nothing newer will come this way.
  virtual bool writer_alive() const = 0;
};

}  // namespace murmurate
