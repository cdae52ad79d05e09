// write_checkpoints DIRECTORY VERSION on|over|best: writes checkpoints of VERSION, VERSION + 1, ...
// until it is killed, and says each finished version on stdout as 8 bytes. The step is the version,
// one older is kept; or, over, it is always 1, and each takes the place of the one before; or each
// is evaluated to its version and becomes the best.
#include <unistd.h>

#include <cstdlib>

#include "server/operate/checkpoint.h"
#include "tests/operate/sample_checkpoint.h"

int main(int count, char** arguments) {
  using namespace murmurate;
  if (count != 4) return 2;
  const std::string directory = arguments[1];
  const bool best = std::string(arguments[3]) == "best";
  const bool over = std::string(arguments[3]) == "over";
  for (std::uint64_t version = std::strtoull(arguments[2], nullptr, 10);; ++version) {
    Checkpoint checkpoint = SampleCheckpoint(over ? 1 : version, 64);
    checkpoint.weights.version = version;
    checkpoint.evaluated = {static_cast<double>(version)};
    const auto written =
        best ? KeepBest(directory, checkpoint, {}) : WriteCheckpoint(directory, checkpoint);
    const bool pruned =
        written.ok() &&
        (best || PruneCheckpoints(directory, {.keep = 2}, checkpoint.weights.steps).ok());
    if (!pruned || write(STDOUT_FILENO, &version, sizeof version) != sizeof version) return 1;
  }
}
