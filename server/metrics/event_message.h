// EventMessage: one event of TensorBoard (tensorflow/core/util/event.proto) as bytes: a time, a
// step, and either one of the marks below or any number of values, each with a tag of its own.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "server/metrics/metric.h"
#include "server/metrics/protobuf_message.h"

namespace murmurate {

class EventMessage {
 public:
  /// `time_s`: since 1970 began.
  EventMessage(double time_s, std::uint64_t step);

  /// What a file begins with.
  void SetFileVersion();
  /// A life begins: TensorBoard drops what it has of this step and of later ones.
  void SetSessionStart();

  void AddScalar(std::string_view tag, double value);  ///< as a float
  /// Adds the buckets from the first that holds anything to the last; nothing where none does. Ends
  /// that the histogram does not know are those of buckets as wide as their neighbours.
  void AddHistogram(std::string_view tag, const Histogram& histogram);
  void AddText(std::string_view tag, std::string_view markdown);
  /// The settings of a session for the page HPARAMS: numbers, texts and truth values.
  void AddHyperparameters(std::span<const std::pair<std::string, MetricValue>> settings,
                          double began_s);

  bool empty() const { return values_.bytes().empty(); }  ///< of values
  std::string Finish() const;

 private:
  void AddValue(ProtobufMessage value) { values_.Message(1, value); }

  ProtobufMessage head_, values_;
};

}  // namespace murmurate
