#include "server/stream/message_order.h"

#include <algorithm>

namespace murmurate {

using Position = SequenceWindow::Position;

Ordering MessageOrder::Judge(const Sample& sample, std::int64_t time_ns, CellState cell) {
  const Position position = sample.sequence ? sequences_.Find(*sample.sequence) : Position::kNext;
  if (position != Position::kNext) {
    const bool low = *sample.sequence <= sequences_.last() / 2;
    if (low && sample.time_ns > newest_time_ns_) return Ordering::kBeginsAgain;
    if (position == Position::kSeen) return Ordering::kDuplicate;
    if (cell != CellState::kClosed) return Ordering::kOvertaken;
  }
  if (time_ns >= last_time_ns_) {
    late_ = 0;
    return Ordering::kNext;
  }
  if (cell == CellState::kOpen) return Ordering::kOvertaken;
  return JudgeLate(time_ns);
}

Ordering MessageOrder::JudgeLate(std::int64_t time_ns) {
  if (late_ == 0 || time_ns < late_time_ns_) {
    late_ = 1;
  } else if (time_ns > late_time_ns_) {
    ++late_;
  }
  late_time_ns_ = time_ns;
  return late_ > kMostLate ? Ordering::kBeginsAgain : Ordering::kLate;
}

void MessageOrder::BeginAgain(const Sample& sample) {
  const bool counts_anew =
      sample.sequence && *sample.sequence <= sequences_.last() && sample.time_ns > newest_time_ns_;
  last_time_ns_ = 0;
  heard_time_ns_ = 0;
  late_ = 0;
  if (!counts_anew) return;
  sequences_.Clear();  // what the former count had below it has come
  if (*sample.sequence > 0) sequences_.BeginAt(*sample.sequence - 1);
}

MessageOrder::Accepted MessageOrder::Accept(const Sample& sample, std::int64_t time_ns,
                                            std::int64_t arrival_ns) {
  const std::int64_t missing = sample.sequence ? sequences_.Insert(*sample.sequence) : 0;
  const bool follows = heard_time_ns_ != 0 && time_ns >= heard_time_ns_;
  const float gap_s = follows ? static_cast<float>(time_ns - heard_time_ns_) * 1e-9f : kUnknownGap;
  heard_time_ns_ = time_ns;
  last_time_ns_ = std::max(last_time_ns_, time_ns);
  newest_time_ns_ = std::max(newest_time_ns_, time_ns);
  last_arrival_ns_ = arrival_ns;
  return {missing, gap_s};
}

void MessageOrder::GoOnFrom(std::int64_t last_time_ns, std::int64_t last_arrival_ns,
                            std::int64_t newest_time_ns) {
  last_time_ns_ = heard_time_ns_ = last_time_ns;
  last_arrival_ns_ = last_arrival_ns;
  newest_time_ns_ = newest_time_ns;
}

}  // namespace murmurate
