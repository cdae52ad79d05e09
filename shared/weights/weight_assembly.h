// WeightAssembly: which chunks are those of one version of one model, in order and of the right
// size. No sockets, no bytes: what it accepts goes to the reader as it is, and whether the numbers
// are right is found out there (network_subscriber.h).
#pragma once

#include <cstdint>

#include "shared/model/parameter_layout.h"
#include "shared/weights/weights.h"
#include "shared/wire/actor_messages.h"

namespace murmurate {

class WeightAssembly {
 public:
  enum class Outcome : std::uint8_t {
    kNext,     ///< the next chunk of its version
    kLast,     ///< and no more will come
    kOld,      ///< nothing newer than what is had: the learner has not published it yet
    kRefused,  ///< not what was asked for
  };

  explicit WeightAssembly(const ModelSpec& spec) : total_(PayloadBytes(ParameterLayout(spec))) {}

  Outcome Add(const wire::Chunk& chunk, std::size_t block_bytes, std::uint64_t have);
  void Abort() { version_ = 0; }

  std::uint64_t version() const { return version_; }  ///< 0: none begun
  std::size_t received() const { return received_; }
  std::size_t total() const { return total_; }

 private:
  std::size_t total_;
  std::uint64_t version_ = 0, hash_ = 0;
  std::size_t received_ = 0;
};

}  // namespace murmurate
