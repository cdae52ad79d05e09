// Any bytes as the messages of a stream: {which format (u8), size of the topic (u8), topic,
// payload}. Build with clang and -DMURMURATE_FUZZ=ON for libFuzzer's `stream_fuzz`;
// tests/stream/strange_messages_test.cc plays made-up ones through the same AnyMessage under every
// compiler.
#include <algorithm>
#include <cstdint>

#include "tests/fuzz/any_message.h"

namespace murmurate {
namespace {

PayloadSettings Settings(PayloadFormat format) {
  PayloadSettings settings;
  settings.format = format;
  settings.fields = {{.name = "temp", .min = -40, .max = 60}, {.name = "hum", .min = 0}, {"vib"}};
  if (format == PayloadFormat::kJson) {
    settings.time = "/at/t";
    settings.sequence = "/n/1";
    settings.id = "/id";
  } else if (format == PayloadFormat::kCsv) {
    settings.time = "4";
    settings.sequence = "5";
    settings.id = "6";
    settings.time_form = TimeForm::kIso8601;
  }
  return settings;
}

}  // namespace
}  // namespace murmurate

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace murmurate;
  static AnyMessage all[] = {AnyMessage(Settings(PayloadFormat::kJson)),
                             AnyMessage(Settings(PayloadFormat::kCsv)),
                             AnyMessage(Settings(PayloadFormat::kFloats)),
                             AnyMessage(Settings(PayloadFormat::kFlatBuffer))};
  if (size < 2) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 2, size - 2);
  const std::size_t topic = std::min<std::size_t>(data[1], rest.size());
  all[data[0] % 4].Consume(rest.substr(0, topic), rest.substr(topic));
  return 0;
}
