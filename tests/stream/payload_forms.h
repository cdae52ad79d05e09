// A payload of each format that says all it can, and what damages it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "shared/core/random.h"
#include "tests/stream/payload_settings.h"

namespace murmurate {

inline const std::vector<double> kValues = {21.5, 40.25, 0.5};

struct Form {
  PayloadSettings settings;
  std::string payload;  ///< valid, and nothing of it can be left out
};

/// All formats, with time, sequence, id and device as far as they have them.
inline std::vector<Form> Forms() {
  PayloadSettings json = ThreeFields(PayloadFormat::kJson);
  json.time = "/at/t";
  json.sequence = "/n/1";
  json.id = "/id";
  json.device = "/who";
  PayloadSettings csv = ThreeFields(PayloadFormat::kCsv);
  csv.time = "4";
  csv.sequence = "5";
  csv.id = "6";
  csv.time_form = TimeForm::kIso8601;
  const std::vector<float> floats(kValues.begin(), kValues.end());
  PayloadSettings table = ThreeFields(PayloadFormat::kFlatBuffer);
  table.device = "device";
  return {{json, R"({"temp":21.5,"hum":40.25,"vib":0.5,"at":{"t":1700000000.5},"n":[0,12],)"
                 R"("id":"\u00e4","who":"pump","x":[true,null,{"y":-1e-3}]})"},
          {csv, "21.5,40.25,0.5,2026-05-01T12:34:56.5Z,12,order"},
          {ThreeFields(PayloadFormat::kFloats), Floats(floats)},
          {table, Table(&floats, 1700000000500000000, 12, "pump", "order")},
          {table, Table(&kValues, 1700000000500000000, 12, "pump", "order")}};
}

/// Bytes changed, taken out, put in, moved; more often such as mean something to a parser.
inline void Mutate(Random* random, std::string* payload) {
  constexpr std::string_view kTelling("{}[]\",:;.-+eE019nulltrue\\u/~ \n\r\t\0\x7F\x80\xC3\xFF",
                                      37);
  const std::uint32_t times = 1 + random->UniformInt(6);
  for (std::uint32_t i = 0; i < times && !payload->empty(); ++i) {
    const auto size = static_cast<std::uint32_t>(payload->size());
    const std::size_t place = random->UniformInt(size);
    const char byte = random->UniformInt(2) == 0 ? kTelling[random->UniformInt(kTelling.size())]
                                                 : static_cast<char>(random->UniformInt(256));
    switch (random->UniformInt(5)) {
      case 0:
        (*payload)[place] = byte;
        break;
      case 1:
        (*payload)[place] = static_cast<char>((*payload)[place] ^ (1 << random->UniformInt(8)));
        break;
      case 2:
        payload->erase(place, 1 + random->UniformInt(4));
        break;
      case 3:
        payload->insert(place, 1 + random->UniformInt(4), byte);
        break;
      default:
        payload->insert(place, payload->substr(random->UniformInt(size), random->UniformInt(20)));
    }
  }
}

}  // namespace murmurate
