// WeightAssembly: one version of one model on its way in, chunk by chunk. No sockets; the clock is
// the caller's. It takes the chunks of one version only, in order, and says when the whole is
// right.
#pragma once

#include <cstdint>
#include <optional>

#include "shared/weights/weights.h"
#include "shared/wire/messages.h"

namespace murmurate {

class WeightAssembly {
 public:
  enum class Outcome : std::uint8_t {
    kStored,   ///< one more chunk
    kWhole,    ///< and it was the last: size, hash and preamble are right
    kOld,      ///< nothing newer than what is had: the learner has not published it yet
    kRefused,  ///< not what was asked for
  };

  explicit WeightAssembly(const ModelSpec& spec) : layout_(spec) {}

  Outcome Add(const wire::Chunk& chunk, std::span<const std::byte> block, std::uint64_t have);
  void Abort() { version_ = 0; }

  std::uint64_t version() const { return version_; }  ///< 0: none begun
  std::size_t received() const { return received_; }
  std::size_t total() const { return PayloadBytes(layout_); }
  /// After kWhole; its buffer is used again when something is swapped in.
  ReceivedWeights* whole() { return &weights_; }

 private:
  Outcome Finish(std::uint64_t incarnation);

  ParameterLayout layout_;
  ReceivedWeights weights_;
  std::uint64_t version_ = 0, hash_ = 0;
  std::size_t received_ = 0;
};

}  // namespace murmurate
