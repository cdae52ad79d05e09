// The messages of streams (stream_messages.h), taken apart.
#include <cmath>

#include "shared/wire/body_reader.h"

namespace murmurate::wire {
namespace {

/// A device's name or an id: bytes for others to judge, but no more than that many.
std::string Name(BodyReader& in, const flatbuffers::String* text, const char* field) {
  return in.Text(text, field, kMaxSampleName);
}

/// Numbers of a list that may be long; ReadRoot's budget bounds all of them together.
template <typename Number>
std::vector<Number> Numbers(BodyReader& in, const flatbuffers::Vector<Number>* vector,
                            const char* field, std::size_t limit) {
  std::vector<Number> numbers(in.Count(vector, field, limit, sizeof(Number), sizeof(Number)));
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = vector->Get(static_cast<flatbuffers::uoffset_t>(i));
  return numbers;
}

std::vector<double> Widened(const std::vector<float>& numbers) {
  return {numbers.begin(), numbers.end()};
}

using Strings = flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>;

std::vector<std::string> FieldNames(BodyReader& in, const Strings* list) {
  std::vector<std::string> names;
  const std::size_t count = in.Count(list, "fields", kMaxStreamFields, 4, 4);
  for (std::size_t i = 0; i < count && in.ok(); ++i)
    names.push_back(in.Name(list->Get(static_cast<flatbuffers::uoffset_t>(i)), "field name"));
  return names;
}

Body Read(BodyReader& in, const fb::StreamHello& from) {
  StreamHello hello;
  hello.min_major = from.min_major();
  hello.max_major = from.max_major();
  in.Expect(hello.min_major <= hello.max_major, "protocol range", "min <= max");
  hello.name = in.Name(from.name(), "client name");
  hello.stream = in.Text(from.stream(), "stream name", kMaxSentence);
  in.Expect(hello.stream.empty() || IsGoodName(hello.stream), "stream name",
            "1 to 64 letters, digits, '.', '_' or '-', or nothing");
  hello.fields = FieldNames(in, from.fields());
  hello.number = from.number();
  hello.sequence = from.sequence();
  hello.doubles = from.doubles();
  return hello;
}

Body Read(BodyReader& in, const fb::StreamOk& from) {
  StreamOk ok;
  ok.incarnation = from.incarnation();
  ok.number = from.number();
  ok.credit = from.credit();
  in.Expect(ok.credit >= 1 && ok.credit <= 65'536, "credit", "1 to 65536 samples");
  ok.stream = in.Name(from.stream(), "stream name");
  ok.fields = FieldNames(in, from.fields());
  ok.targets = Numbers(in, from.targets(), "targets", kMaxStreamFields);
  for (const std::uint32_t target : ok.targets)
    in.Expect(target < ok.fields.size(), "target", "one of the fields");
  ok.horizons = Numbers(in, from.horizons(), "horizons", kMaxHorizons);
  ok.quantiles = Numbers(in, from.quantiles(), "quantiles", kMaxQuantiles);
  ok.doubles = from.doubles();
  in.Expect(!ok.fields.empty() && !ok.targets.empty() && !ok.horizons.empty(), "stream",
            "fields, targets and horizons");
  return ok;
}

Body Read(BodyReader& in, const fb::Sample& from) {
  Sample sample;
  sample.device = Name(in, from.device(), "device");
  sample.time_ns = from.time_ns();
  if (const auto sequence = from.sequence()) sample.sequence = *sequence;
  if (from.id() != nullptr) sample.id = Name(in, from.id(), "id");
  sample.doubles = from.numbers() != nullptr;
  sample.values = sample.doubles ? Numbers(in, from.numbers(), "numbers", kMaxStreamFields)
                                 : Widened(Numbers(in, from.values(), "values", kMaxStreamFields));
  return sample;
}

/// Of each value its forecast, model and baseline, and all quantiles behind them.
void TakeNumbers(BodyReader& in, const flatbuffers::Vector<double>& from, Forecast* forecast) {
  const std::vector<double> numbers =
      Numbers(in, &from, "numbers", 3 * kMaxForecastValues + kMaxForecastNumbers);
  const std::size_t of_values = 3 * forecast->values.size();
  in.Expect(numbers.size() >= of_values, "numbers", "three for each value");
  if (!in.ok()) return;
  const double* next = numbers.data();
  for (ForecastValue& value : forecast->values) {
    value.forecast = *next++;
    value.model = *next++;
    value.baseline = *next++;
  }
  forecast->quantiles.assign(next, numbers.data() + numbers.size());
}

Body Read(BodyReader& in, const fb::Forecast& from) {
  Forecast forecast{from.row(), from.time_ns(), from.version(), from.alarm()};
  in.Expect(forecast.alarm <= 2, "alarm", "0 to 2");
  forecast.due_ns = Numbers(in, from.due_ns(), "due times", kMaxHorizons);
  const std::size_t count =
      in.Count(from.values(), "values", kMaxForecastValues, sizeof(fb::ForecastValue), 4);
  forecast.values.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const fb::ForecastValue& v = *from.values()->Get(static_cast<flatbuffers::uoffset_t>(i));
    forecast.values.push_back({v.forecast(), v.model(), v.baseline(), v.error(), v.baseline_error(),
                               v.coverage(), v.count(), (v.flags() & 1) != 0});
  }
  forecast.doubles = from.numbers() != nullptr;
  if (forecast.doubles)
    TakeNumbers(in, *from.numbers(), &forecast);
  else
    forecast.quantiles = Widened(Numbers(in, from.quantiles(), "quantiles", kMaxForecastNumbers));
  return forecast;
}

Body Read(BodyReader&, const fb::Taken&) { return Taken{}; }

Body Read(BodyReader& in, const fb::Refused& from) {
  return Refused{in.Name(from.word(), "word"), in.Sentence(from.sentence(), "sentence")};
}

Body Read(BodyReader& in, const fb::SamplesCommitted& from) {
  SamplesCommitted committed{{}, from.complete()};
  const std::size_t count = in.Count(from.devices(), "devices", kMaxCommittedDevices, 4, 4);
  for (std::size_t i = 0; i < count && in.ok(); ++i) {
    const auto& device = *from.devices()->Get(static_cast<flatbuffers::uoffset_t>(i));
    committed.devices.push_back({Name(in, device.device(), "device"), device.sequence()});
  }
  return committed;
}

template <typename Table>
Complaint ReadOne(std::span<const std::byte> metadata, Body* body) {
  return ReadRoot<Table>(metadata, body,
                         [](BodyReader& in, const Table& table) { return Read(in, table); });
}

}  // namespace

Complaint ReadStreamBody(MessageType type, std::span<const std::byte> metadata, Body* body) {
  switch (type) {
    case MessageType::kStreamHello:
      return ReadOne<fb::StreamHello>(metadata, body);
    case MessageType::kStreamOk:
      return ReadOne<fb::StreamOk>(metadata, body);
    case MessageType::kSample:
      return ReadOne<fb::Sample>(metadata, body);
    case MessageType::kForecast:
      return ReadOne<fb::Forecast>(metadata, body);
    case MessageType::kTaken:
      return ReadOne<fb::Taken>(metadata, body);
    case MessageType::kRefused:
      return ReadOne<fb::Refused>(metadata, body);
    case MessageType::kSamplesCommitted:
      return ReadOne<fb::SamplesCommitted>(metadata, body);
    default:
      return {Refusal::kUnknownType, "this message is of no stream"};
  }
}

}  // namespace murmurate::wire
