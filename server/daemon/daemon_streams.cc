// The streams of a Daemon: a model for each, made before anybody comes.
#include <algorithm>

#include "server/daemon/daemon_state.h"
#include "server/daemon/stream_source.h"
#include "shared/core/check.h"

namespace murmurate {

Status Daemon::State::MakeStreams() {
  for (const StreamSettings& stream : config.streams())
    if (std::ranges::find(models, stream.name, [](const auto& model) { return model->name; }) ==
        models.end())
      MURMURATE_RETURN_IF_ERROR(MakeModel(stream.name, stream.spaces()).status());
  return {};
}

Status Daemon::State::AddStream(LiveModel* model, const StreamSettings& stream,
                                const SavedState* resumed) {
  auto streaming = Streaming::Open(
      stream, config.server().insecure, model->channel,
      [this, name = model->name](std::span<const wire::ReportedNumber> numbers) {
        operate->PostReports(name, numbers, false);
      },
      log);
  if (!streaming.ok()) return streaming.status();
  auto source = std::make_unique<StreamSource>(*std::move(streaming));
  if (resumed) MURMURATE_RETURN_IF_ERROR(source->Load(*resumed));
  model->source = std::move(source);
  return {};
}

std::vector<Reading> Daemon::State::Streams() {
  std::lock_guard lock(models_mutex);
  std::vector<Reading> streams;
  for (const auto& model : models)
    if (auto metrics = model->source->Metrics()) streams.push_back(*std::move(metrics));
  return streams;
}

}  // namespace murmurate
