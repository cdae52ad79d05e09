#include "server/learn/rates.h"

#include "server/learn/algorithm.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

void SaveOne(const StateWriter& writer, const std::string& name, const Schedule& schedule) {
  const double numbers[] = {schedule.from, schedule.to, static_cast<double>(schedule.steps),
                            static_cast<double>(schedule.shape),
                            schedule.over_the_budget ? 1.0 : 0.0};
  writer.Doubles(name, numbers);
}

Status LoadOne(const StateReader& reader, const std::string& name, Schedule* schedule) {
  double numbers[5];
  MURMURATE_RETURN_IF_ERROR(reader.Doubles(name, numbers));
  if (!(numbers[2] >= 0 && numbers[2] < 1e18 && numbers[3] >= 0 && numbers[3] <= 2))
    return InvalidData("rates: " + name + " is no schedule; take another checkpoint");
  schedule->from = numbers[0];
  schedule->to = numbers[1];
  schedule->steps = static_cast<std::uint64_t>(numbers[2]);
  schedule->shape = static_cast<Schedule::Shape>(static_cast<int>(numbers[3]));
  schedule->over_the_budget = numbers[4] != 0;
  return {};
}

}  // namespace

Rates Rates::Of(const AlgorithmSettings& settings) {
  return {settings.learning_rate, settings.clip, settings.entropy, settings.kind->clips_ratio};
}

void Rates::Save(const StateWriter& writer) const {
  SaveOne(writer, "learning_rate", learning_rate);
  SaveOne(writer, "clip", clip);
  SaveOne(writer, "entropy", entropy);
}

Status Rates::Load(const StateReader& reader) {
  Rates read = *this;
  MURMURATE_RETURN_IF_ERROR(LoadOne(reader, "learning_rate", &read.learning_rate));
  MURMURATE_RETURN_IF_ERROR(LoadOne(reader, "clip", &read.clip));
  MURMURATE_RETURN_IF_ERROR(LoadOne(reader, "entropy", &read.entropy));
  *this = read;
  return {};
}

}  // namespace murmurate
