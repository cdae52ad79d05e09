// HelloRetry: a client's HELLO, and when it goes out again while it has no answer: after 2 ms,
// doubling to 1 s, with jitter; after 5 s and more when it was refused.
#pragma once

#include <cstdint>
#include <optional>

#include "shared/core/random.h"
#include "shared/wire/actor_messages.h"

namespace murmurate::wire {

class HelloRetry {
 public:
  explicit HelloRetry(std::uint64_t jitter_seed) : random_(jitter_seed) {}

  /// (Re)states who the client is, under the next number.
  void Introduce(Hello hello);
  /// The HELLO to be sent now; the waits begin with the shortest. `sequence`: of the last
  /// EXPERIENCE.
  const Hello& Ask(std::uint64_t sequence, std::int64_t now_ns);
  /// The HELLO to be sent again, when it is due; `refused`: the last one was.
  const Hello& Repeat(std::uint64_t sequence, std::int64_t now_ns, bool refused);
  bool due(std::int64_t now_ns) const { return now_ns >= next_ns_; }
  /// A HELLO has been sent and is not answered yet.
  bool open() const { return open_; }
  /// `ok` answers the last HELLO; one to an earlier HELLO knows nothing of the agents that have
  /// come since.
  bool IsAnsweredBy(const HelloOk& ok) const;

  void OnAnswered() { open_ = false; }
  void OnRefused(std::int64_t now_ns);
  /// The learner is leaving: the next HELLO is for its successor.
  void OnGoaway(std::int64_t now_ns);
  /// The socket is opened anew.
  void OnLost(std::int64_t now_ns);

 private:
  const Hello& Send(std::uint64_t sequence, std::int64_t now_ns);

  Random random_;
  std::optional<Hello> hello_;
  bool open_ = false;
  std::int64_t next_ns_ = 0, backoff_ns_ = 0;
};

}  // namespace murmurate::wire
