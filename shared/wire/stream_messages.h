// What a stream and those who send it samples say to each other (messages.h has the rest).
//
// A SAMPLE has its sender's next number in the header, and gets exactly one answer with that
// number: FORECAST, TAKEN, REFUSED or ERROR.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace murmurate::wire {

inline constexpr std::size_t kMaxStreamFields = 256;
inline constexpr std::size_t kMaxSampleName = 128;  ///< bytes of a device's name, or an id
inline constexpr std::size_t kMaxForecastValues = 4096;
inline constexpr std::size_t kMaxHorizons = 4096;
inline constexpr std::size_t kMaxQuantiles = 64;
inline constexpr std::size_t kMaxForecastNumbers = 32'768;  ///< quantiles of all values together
inline constexpr std::size_t kMaxCommittedDevices = 64;     ///< of one message

struct StreamHello {
  std::uint8_t min_major = 1, max_major = 1;
  std::string name = "client";
  std::string stream;               ///< "": whichever is there
  std::vector<std::string> fields;  ///< that its samples have, in order; none: not said
  std::uint32_t number = 0;         ///< counts this client's STREAM_HELLOs
  std::uint64_t sequence = 0;       ///< of its last SAMPLE
  bool doubles = false;             ///< it reads FORECASTs with doubles
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
};

struct Sample {
  std::string device;
  std::int64_t time_ns = 0;  ///< since 1970 began (UTC); 0: it counts as it arrives
  std::optional<std::uint64_t> sequence;
  std::string id;
  std::vector<double> values;  ///< one for each field; NaN: missing
  bool doubles = false;        ///< how they travel; else as float32
};

struct ForecastValue {
  double forecast = 0, model = 0, baseline = 0;
  float error = 0, baseline_error = 0;  ///< NaN: not known yet
  float coverage = 0;                   ///< NaN: not known
  std::uint32_t count = 0;
  bool by_model = false;
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
};

struct Taken {};

struct Refused {
  std::string word, sentence;
};

struct DeviceCommitted {
  std::string device;
  std::uint64_t sequence = 0;
};
struct SamplesCommitted {
  std::vector<DeviceCommitted> devices;  ///< at most kMaxCommittedDevices
  bool complete = false;                 ///< all that was known at STREAM_OK has been told
};

}  // namespace murmurate::wire
