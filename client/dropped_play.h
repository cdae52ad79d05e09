// DroppedPlay: whether a model's play is dropped because its game is faster than its learner, over
// about the last 65,536 steps that were played while the learner was there. mmr-client only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace murmurate {

class DroppedPlay {
 public:
  /// Both are sums over the agents of the model since the start: steps, and those of them that were
  /// never sent because newer ones needed the room. To be called from time to time while the
  /// learner answers.
  void Count(std::uint64_t steps, std::uint64_t overrun);
  /// The learner does not answer: steps that are dropped until the next Count are not counted.
  void Pause() { last_.reset(); }

  /// One sentence when more than a quarter of at least 10,000 steps was dropped, else "".
  std::string Words() const;
  /// True once: at the first call at which Words is not "".
  bool PopWarning();

 private:
  struct Sums {
    std::uint64_t steps = 0, overrun = 0;
  };
  bool Much() const;

  std::optional<Sums> last_;
  Sums recent_;
  bool said_ = false;
};

}  // namespace murmurate
