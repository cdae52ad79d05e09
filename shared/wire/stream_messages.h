// The messages between a stream and the clients that send it samples; PING, PONG, ERROR, GOAWAY and
// BYE are those of actors.
//
// A SAMPLE has its sender's next number in the header, and gets exactly one answer with that
// number: FORECAST, TAKEN, REFUSED or ERROR.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "shared/wire/fields.h"

namespace murmurate::wire {

namespace fb {
struct StreamHello;
struct StreamOk;
struct Sample;
struct Forecast;
struct Taken;
struct Refused;
struct SamplesCommitted;
}  // namespace fb

struct StreamHello {
  std::uint8_t min_major = 1, max_major = 1;
  std::string name = "client";
  std::string stream;               ///< "": the one that is there
  std::vector<std::string> fields;  ///< that its samples have, in order; none: not said
  std::uint32_t number = 0;         ///< counts this client's STREAM_HELLOs
  std::uint64_t sequence = 0;       ///< of its last SAMPLE
  bool doubles = false;             ///< it reads FORECASTs with doubles

  static constexpr Row<fb::StreamHello> kRow{MessageType{23}, kMaxGreetingBytes};
  static auto Fields(auto& m, auto visit) {
    return visit(m.min_major, m.max_major, m.name | Name("client name"),
                 m.stream | Rule{"stream name", kMaxSentence},
                 m.fields | Rule{"fields", kMaxStreamFields}, m.number, m.sequence, m.doubles);
  }
  void Check(Checker& in) const {
    in.Expect(min_major <= max_major, "protocol range", "min <= max");
    in.Expect(stream.empty() || IsGoodName(stream), "stream name",
              "1 to 64 letters, digits, '.', '_' or '-', or nothing");
  }
};

struct StreamOk {
  std::uint64_t incarnation = 0;
  std::uint32_t number = 0;  ///< of the STREAM_HELLO that is answered
  std::uint32_t credit = 0;  ///< samples that may be unanswered
  std::string stream;
  std::vector<std::string> fields;
  std::vector<std::uint32_t> targets;   ///< indices of fields
  std::vector<std::uint32_t> horizons;  ///< rows ahead
  std::vector<double> quantiles;
  bool doubles = false;  ///< SAMPLEs with doubles are read

  static constexpr Row<fb::StreamOk> kRow{MessageType{24}, kMaxGreetingBytes};
  static auto Fields(auto& m, auto visit) {
    return visit(
        m.incarnation, m.number, m.credit | Range{"credit", 1, 65'536, "1 to 65536 samples"},
        m.stream | Name("stream name"), m.fields | Rule{"fields", kMaxStreamFields},
        m.targets | Rule{"targets", kMaxStreamFields}, m.horizons | Rule{"horizons", kMaxHorizons},
        m.quantiles | Rule{"quantiles", kMaxQuantiles}, m.doubles);
  }
  void Check(Checker& in) const {
    for (const std::uint32_t target : targets)
      in.Expect(target < fields.size(), "target", "one of the fields");
    in.Expect(!fields.empty() && !targets.empty() && !horizons.empty(), "stream",
              "fields, targets and horizons");
  }
};

struct Sample {
  std::string device;
  std::int64_t time_ns = 0;  ///< since 1970 began (UTC); 0: it counts as it arrives
  std::optional<std::uint64_t> sequence;
  std::string id;
  std::vector<double> values;  ///< one for each field; NaN: missing
  bool doubles = false;        ///< how they travel; else as float32

  static constexpr Row<fb::Sample> kRow{MessageType{25}, kMaxGreetingBytes};
  static auto Fields(auto& m, auto visit) {
    return visit(m.device | Rule{"device", kMaxSampleName}, m.time_ns, m.sequence,
                 m.id | Rule{"id", kMaxSampleName, Form::kOptional},
                 m | Rule{"values", kMaxStreamFields},
                 m | Rule{"numbers", kMaxStreamFields, Form::kOptional});
  }
  // The numbers as they travel, by `doubles`:
  const std::vector<double>& Floats() const { return values; }
  void SetFloats(std::vector<double> numbers) { values = std::move(numbers); }
  const std::vector<double>& Doubles() const { return values; }
  void SetDoubles(std::vector<double> numbers, Checker&) { values = std::move(numbers); }
};

struct ForecastValue {
  double forecast = 0, model = 0, baseline = 0;
  float error = 0, baseline_error = 0;  ///< NaN: not known yet
  float coverage = 0;                   ///< NaN: not known
  std::uint32_t count = 0;
  bool by_model = false;

  static auto Fields(auto& m, auto visit) {
    return visit(m.forecast, m.model, m.baseline, m.error, m.baseline_error, m.coverage, m.count,
                 m.by_model);
  }
};

struct Forecast {
  std::uint64_t row = 0;
  std::int64_t time_ns = 0;
  std::uint64_t version = 0;
  std::uint8_t alarm = 0;  ///< 1: raised, 2: cleared
  std::vector<std::int64_t> due_ns;
  std::vector<ForecastValue> values;
  std::vector<double> quantiles;
  bool doubles = false;  ///< how these and forecast, model and baseline travel; else as float32

  static constexpr Row<fb::Forecast> kRow{MessageType{26}, kMaxForecastBytes};
  static auto Fields(auto& m, auto visit) {
    return visit(
        m.row, m.time_ns, m.version, m.alarm | Range{"alarm", 0, 2, "0 to 2"},
        m.due_ns | Rule{"due times", kMaxHorizons}, m.values | Rule{"values", kMaxForecastValues},
        m | Rule{"quantiles", kMaxForecastNumbers},
        m | Rule{"numbers", 3 * kMaxForecastValues + kMaxForecastNumbers, Form::kOptional});
  }
  // The numbers as they travel, by `doubles`; Doubles(): of each value its forecast, model and
  // baseline, and all quantiles behind them.
  const std::vector<double>& Floats() const { return quantiles; }
  void SetFloats(std::vector<double> numbers) { quantiles = std::move(numbers); }
  std::vector<double> Doubles() const;
  void SetDoubles(const std::vector<double>& numbers, Checker& in);
};

struct Taken {
  std::uint8_t reserved = 0;

  static constexpr Row<fb::Taken> kRow{MessageType{27}};
  static auto Fields(auto& m, auto visit) { return visit(m.reserved); }
};

struct Refused {
  std::string word, sentence;

  static constexpr Row<fb::Refused> kRow{MessageType{28}};
  static auto Fields(auto& m, auto visit) {
    return visit(m.word | Name("word"), m.sentence | Sentence("sentence"));
  }
};

struct DeviceCommitted {
  std::string device;
  std::uint64_t sequence = 0;

  static auto Fields(auto& m, auto visit) {
    return visit(m.device | Rule{"device", kMaxSampleName}, m.sequence);
  }
};
struct SamplesCommitted {
  std::vector<DeviceCommitted> devices;  ///< at most kMaxCommittedDevices
  bool complete = false;                 ///< all that was known at STREAM_OK has been told

  static constexpr Row<fb::SamplesCommitted> kRow{MessageType{29}, kMaxGreetingBytes};
  static auto Fields(auto& m, auto visit) {
    return visit(m.devices | Rule{"devices", kMaxCommittedDevices}, m.complete);
  }
};

using StreamBody =
    std::variant<StreamHello, StreamOk, Sample, Forecast, Taken, Refused, SamplesCommitted>;

}  // namespace murmurate::wire
