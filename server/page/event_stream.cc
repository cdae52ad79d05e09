#include "server/page/event_stream.h"

#include <utility>

#include "server/page/metrics_json.h"
#include "shared/core/clock.h"

namespace murmurate {
namespace {

constexpr std::int64_t kMetricsNs = 5 * kNanosecondsPerSecond;

/// `data` has no line break.
std::string Event(const std::string& name, const std::string& data) {
  return "event: " + name + "\ndata: " + data + "\n\n";
}

}  // namespace

std::string EventStream::Next() {
  std::string text;
  if (!std::exchange(begun_, true))
    text += Event("page", control_ ? "{\"control\":true}" : "{\"control\":false}");
  const auto snapshot = board_.Await(last_ns_ + 1, kWaitMs);
  if (!snapshot) return text + ": no news\n\n";
  last_ns_ = snapshot->at_ns;
  text += Event("status", snapshot->status);
  if (snapshot->at_ns - metrics_ns_ >= kMetricsNs || metrics_ns_ == 0) {
    metrics_ns_ = snapshot->at_ns;
    text += Event("metrics", MetricsJson(snapshot->readings));
  }
  AddFiles(MonotonicNs(), &text);
  return text;
}

void EventStream::AddFiles(std::int64_t now_ns, std::string* text) {
  if (files_ns_ != 0 && now_ns - files_ns_ < RunFiles::kLookNs) return;
  files_ns_ = now_ns;
  if (const std::string curves = files_.Curves(&seen_, now_ns); curves != "[]")
    *text += Event("curves", curves);
  AddChanged("log", files_.Log(), text);
  AddChanged("checkpoints", files_.Checkpoints(), text);
}

void EventStream::AddChanged(const std::string& event, const std::string& data, std::string* text) {
  std::string& sent = sent_[event];
  if (sent == data) return;
  sent = data;
  *text += Event(event, data);
}

}  // namespace murmurate
