#include "server/metrics/event_message.h"

#include <algorithm>
#include <vector>

#include "server/metrics/utf8.h"

namespace murmurate {
namespace {

// Field numbers: event.proto, summary.proto, tensor.proto of TensorFlow; plugin_data.proto of
// TensorBoard's plug-in hparams; struct.proto of Protocol Buffers.
namespace event {
constexpr int kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5, kSessionLog = 7;
}
namespace value {
constexpr int kTag = 1, kSimple = 2, kHistogram = 5, kTensor = 8, kMetadata = 9;
}
constexpr int kDataTypeString = 7;

ProtobufMessage Tagged(std::string_view tag) {
  return ProtobufMessage().Bytes(value::kTag, ValidUtf8(tag));
}

ProtobufMessage PluginMetadata(std::string_view plugin, std::string_view content) {
  return ProtobufMessage().Message(1, ProtobufMessage().Bytes(1, plugin).Bytes(2, content));
}

/// A tensor with one string and no dimensions.
ProtobufMessage StringTensor(std::string_view text) {
  return ProtobufMessage().Varint(1, kDataTypeString).Message(2, {}).Bytes(8, ValidUtf8(text));
}

/// google.protobuf.Value
ProtobufMessage AnyValue(const MetricValue& setting) {
  if (const bool* yes = std::get_if<bool>(&setting.variant()))
    return ProtobufMessage().Varint(4, *yes ? 1 : 0);
  if (const auto number = setting.number()) return ProtobufMessage().Double(2, *number);
  return ProtobufMessage().Bytes(3, ValidUtf8(setting.text()));
}

/// The lower end of bucket `i`: that of the first is as far away as the second one is wide, but 0
/// where that would be the only negative number.
double LowerEnd(const Histogram& histogram, std::size_t i) {
  const std::vector<double>& bounds = histogram.bounds;
  if (i > 0) return bounds[i - 1];
  const double end = bounds.size() > 1 ? 2 * bounds[0] - bounds[1] : bounds[0] - 1;
  return bounds[0] > 0 ? std::max(end, 0.0) : end;
}

double UpperEnd(const Histogram& histogram, std::size_t i) {
  const std::vector<double>& bounds = histogram.bounds;
  if (i < bounds.size()) return bounds[i];
  return 2 * bounds.back() - LowerEnd(histogram, bounds.size() - 1);
}

}  // namespace

EventMessage::EventMessage(double time_s, std::uint64_t step) {
  head_.Double(event::kWallTime, time_s).Varint(event::kStep, step);
}

void EventMessage::SetFileVersion() { head_.Bytes(event::kFileVersion, "brain.Event:2"); }

void EventMessage::SetSessionStart() {
  head_.Message(event::kSessionLog, ProtobufMessage().Varint(1, 1));
}

void EventMessage::AddScalar(std::string_view tag, double number) {
  AddValue(Tagged(tag).Float(value::kSimple, static_cast<float>(number)));
}

void EventMessage::AddHistogram(std::string_view tag, const Histogram& histogram) {
  const auto filled = [](std::uint64_t count) { return count > 0; };
  const auto first = std::ranges::find_if(histogram.counts, filled);
  if (first == histogram.counts.end()) return;
  const auto last = std::find_if(histogram.counts.rbegin(), histogram.counts.rend(), filled).base();
  const auto begin = static_cast<std::size_t>(first - histogram.counts.begin());
  std::vector<double> limits;
  double squares = 0;
  for (std::size_t i = begin; limits.size() < static_cast<std::size_t>(last - first); ++i) {
    limits.push_back(UpperEnd(histogram, i));
    const double middle = (LowerEnd(histogram, i) + limits.back()) / 2;
    squares += static_cast<double>(histogram.counts[i]) * middle * middle;
  }
  AddValue(
      Tagged(tag).Message(value::kHistogram, ProtobufMessage()
                                                 .Double(1, LowerEnd(histogram, begin))
                                                 .Double(2, limits.back())
                                                 .Double(3, static_cast<double>(histogram.count()))
                                                 .Double(4, histogram.sum)
                                                 .Double(5, squares)
                                                 .Doubles(6, limits)
                                                 .Doubles(7, std::vector<double>(first, last))));
}

void EventMessage::AddText(std::string_view tag, std::string_view markdown) {
  AddValue(Tagged(tag)
               .Message(value::kTensor, StringTensor(markdown))
               .Message(value::kMetadata, PluginMetadata("text", "")));
}

void EventMessage::AddHyperparameters(std::span<const std::pair<std::string, MetricValue>> settings,
                                      double began_s) {
  ProtobufMessage session;
  for (const auto& [name, setting] : settings)
    session.Message(1, ProtobufMessage().Bytes(1, ValidUtf8(name)).Message(2, AnyValue(setting)));
  session.Double(5, began_s);
  AddValue(Tagged("_hparams_/session_start_info")
               .Message(value::kMetadata,
                        PluginMetadata("hparams", ProtobufMessage().Message(3, session).bytes())));
}

std::string EventMessage::Finish() const {
  ProtobufMessage whole = head_;
  if (!empty()) whole.Message(event::kSummary, values_);
  return whole.bytes();
}

}  // namespace murmurate
