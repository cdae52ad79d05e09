// FillText: a sentence with places for values, which says in one line what string arithmetic says
// in ten:
//
//   "{steps|,} steps[ ({learned_steps|,} learned from)][+, {dropped_steps|,} never sent]"
//
//   {key}         the text or number as it is; "-" where there is none
//   {key|FORMAT}  a number: "," 1,234   "return" 431.2   "rate" 152 k   "time" 12 s   "%" 12 %,
//                 or as printf writes it: "%.2f"
//   [ ... ]       left out when the first value inside is missing or an empty text
//   [+ ... ]      left out when it is a count of 0, too
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "server/metrics/metric.h"

namespace murmurate {

using ValueOf = std::function<MetricValue(std::string_view key)>;

std::string FillText(std::string_view pattern, const ValueOf& value_of);

}  // namespace murmurate
