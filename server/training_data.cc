#include "server/training_data.h"

#include "server/data/recording_source.h"

namespace murmurate {

Result<std::shared_ptr<DataSource>> OpenData(const DataSettings& settings) {
  std::shared_ptr<DataSource> source;
  if (!settings.given()) return source;
  if (!settings.recording.empty()) {
    auto recording = RecordingSource::Open(settings.recording);
    if (!recording.ok()) return recording.status();
    source = std::move(*recording);
  } else {
    auto arrays = ArraySource::Open(settings.arrays);
    if (!arrays.ok()) return arrays.status();
    source = std::move(*arrays);
  }
  if (settings.holdout > 0.0 && source->items() < 2)
    return InvalidData(source->Description() + ": too few to hold some out; take data.holdout out");
  return source;
}

}  // namespace murmurate
