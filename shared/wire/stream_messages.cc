#include "shared/wire/stream_messages.h"

namespace murmurate::wire {

std::vector<double> Forecast::Doubles() const {
  std::vector<double> numbers;
  numbers.reserve(3 * values.size() + quantiles.size());
  for (const ForecastValue& v : values)
    numbers.insert(numbers.end(), {v.forecast, v.model, v.baseline});
  numbers.insert(numbers.end(), quantiles.begin(), quantiles.end());
  return numbers;
}

void Forecast::SetDoubles(const std::vector<double>& numbers, Checker& in) {
  in.Expect(numbers.size() >= 3 * values.size(), "numbers", "three for each value");
  if (!in.ok()) return;
  const double* next = numbers.data();
  for (ForecastValue& value : values) {
    value.forecast = *next++;
    value.model = *next++;
    value.baseline = *next++;
  }
  quantiles.assign(next, numbers.data() + numbers.size());
}

}  // namespace murmurate::wire
