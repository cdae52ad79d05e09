// BatchWatch: notices a batch that takes far longer than those before it, such as one on a device
// that hangs. The learning thread says when batches begin and end; another thread looks.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>

namespace murmurate {

class BatchWatch {
 public:
  /// A batch is late once it has taken longer than both, and is reported again as long after.
  static constexpr double kLateS = 10.0;
  static constexpr double kUsualTimes = 20.0;

  struct Late {
    double seconds = 0;  ///< that the batch has taken so far
    double usual_s = 0;  ///< of the batches before it; 0: there are none
  };

  void Begin(std::int64_t now_ns);
  void End(std::int64_t now_ns);

  /// Seconds that the batch under way has taken so far; 0: none is. Any thread.
  double UnderWay(std::int64_t now_ns) const;
  /// The batch under way, when a report of it is due. Any thread, one at a time.
  std::optional<Late> Look(std::int64_t now_ns);

 private:
  mutable std::mutex mutex_;
  std::optional<std::int64_t> begun_ns_;  ///< nothing: no batch is under way
  std::int64_t reported_ns_ = 0;          ///< when the batch under way began or was reported last
  double usual_s_ = 0;                    ///< mean of about the last eight
};

}  // namespace murmurate
