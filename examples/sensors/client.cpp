// A made-up pump that sends its temperature to a stream and prints what comes back, and that loses
// nothing when the daemon is killed and resumed:
//
//   murmurate serve listen.toml &        # [stream.temp] listen = "tcp://127.0.0.1:7430", fields =
//   ["temp"] sensor_client tcp://127.0.0.1:7430 100
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "murmurate/predictor.h"

using murmurate::Predictor;

int main(int argc, char** argv) {
  const char* const address = argc > 1 ? argv[1] : "tcp://127.0.0.1:7430";
  const std::uint64_t last = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 100;
  auto predictor = Predictor::Connect(address, {.name = "pump-1", .fields = {"temp"}});
  if (!predictor.ok()) {
    std::fprintf(stderr, "%s\n", predictor.status().message().c_str());
    return 2;
  }
  Predictor::Answer answer;
  std::uint64_t next = 1, sessions = 0;
  bool lost = false;
  while (next <= last || (*predictor)->in_flight() > 0 || lost) {
    if ((*predictor)->sessions() !=
        sessions) {  // the stream knows what it has on disk, and no more
      sessions = (*predictor)->sessions();
      next = (*predictor)->Committed("pump-1").value_or(0) + 1;
      lost = false;
    }
    const double temp[] = {20 + 5 * std::sin(0.3 * static_cast<double>(next))};
    Predictor::SampleOptions options;
    options.sequence = next;
    if (next <= last && (*predictor)->Send("pump-1", temp, options) == Predictor::Sent::kTaken)
      ++next;
    while ((*predictor)->Receive(&answer, 1)) {
      lost |= answer.outcome == Predictor::Outcome::kUnanswered;
      if (answer.outcome == Predictor::Outcome::kForecast)
        std::printf("%llu: next %.2f, skill %.2f\n",
                    static_cast<unsigned long long>(*answer.sequence), answer.values[0].forecast,
                    answer.values[0].skill());
    }
  }
}
