// RejectLedger: who has sent too much nonsense to be listened to; the room's own business.
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace murmurate::wire {

class RejectLedger {
 public:
  explicit RejectLedger(int per_minute) : per_minute_(per_minute) {}

  /// Counts one; true when this one was one too many and the peer is muted from now on.
  bool Note(const std::string& peer, std::int64_t now_ns);
  bool Muted(const std::string& peer, std::int64_t now_ns) const;
  void Forget(const std::string& peer) { pages_.erase(peer); }
  void ForgetOld(std::int64_t now_ns);

 private:
  static constexpr std::size_t kMostPages = 65'536;
  struct Page {
    std::int64_t since_ns = 0, muted_until_ns = 0;
    int count = 0;
  };
  const int per_minute_;
  std::map<std::string, Page> pages_;
};

}  // namespace murmurate::wire
