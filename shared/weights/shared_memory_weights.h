// Weights in shared memory: one segment a model, one writer, readers that cannot be blocked.
//
//   0     Header, 4 KiB: magic, layout version, header size, total size, slot count and stride,
//         payload bytes, spec hash, incarnation, owner (ProcessIdentity at kOwnerOffset), state
//         {making, live, closing}, heartbeat (monotonic ns), latest (version << 8 | slot), futex
//         word
//   4096  Slot 0: sequence (odd while it is written), version, bytes; payload at +64
//   ...   Slot 1, Slot 2
//
// The writer: slot = next after latest; sequence += 1 (odd); payload; version; sequence += 1;
// latest; word += 1; futex wake. The reader: latest, sequence (even?), copy, sequence again
// (equal?): the sequence alone decides whether a copy is whole; until then it lies in memory that
// no policy plays from. Torn three times: it keeps what it has. Payload words are moved with
// acquire/release atomics (plain moves on x86, right elsewhere, understood by TSan).
#pragma once

#include <memory>
#include <string>

#include "shared/weights/weights.h"

namespace murmurate {

/// "/murmurate-UID-RUN-MODEL-INCARNATION", shortened to what shm_open takes.
std::string SegmentName(const std::string& run, const std::string& model,
                        std::uint64_t incarnation);

class SharedMemoryPublisher : public WeightPublisher {
 public:
  static Result<std::unique_ptr<SharedMemoryPublisher>> Create(const std::string& name,
                                                               const ModelSpec& spec,
                                                               std::uint64_t incarnation);
  ~SharedMemoryPublisher() override;  ///< state closing, wake all, unlink
  Status Publish(const Snapshot& snapshot) override;
  void Heartbeat();  ///< about once a second
  const std::string& name() const;

 private:
  struct State;
  explicit SharedMemoryPublisher(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

class SharedMemorySubscriber : public WeightSubscriber {
 public:
  /// Checks every field of the header before it is used, and spec and incarnation against what
  /// HELLO_OK said; any mismatch is a status, and the caller takes the network path.
  static Result<std::unique_ptr<SharedMemorySubscriber>> Open(const std::string& name,
                                                              const ModelSpec& spec,
                                                              std::uint64_t incarnation);
  ~SharedMemorySubscriber() override;
  bool ReceiveNewer(const VersionStamp& known, WeightSink* into) override;
  const FutexWord* word() const override;
  bool writer_alive() const override;

 private:
  struct State;
  explicit SharedMemorySubscriber(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Removes segments of dead owners; call at start.
int SweepDeadWeightSegments();

}  // namespace murmurate
