// [stream.NAME] of a Config: what each comes to, and what it cannot stand beside.
#include <algorithm>

#include "server/config/config.h"
#include "shared/core/check.h"

namespace murmurate {

const StreamSettings* Config::StreamOf(const std::string& model) const {
  const auto found = std::ranges::find(streams_, model, &StreamSettings::name);
  return found == streams_.end() ? nullptr : &*found;
}

Result<ModelSettings> Config::ModelForStream(const StreamSettings& stream) const {
  return ModelFor(stream.name, stream.spaces());
}

Status Config::ReadStreams() {
  for (const auto& [name, section] : entries_.streams) {
    auto stream = ReadStreamSettings(entries_, name);
    if (!stream.ok()) return stream.status();
    MURMURATE_RETURN_IF_ERROR(CheckStream(*stream));
    streams_.push_back(*std::move(stream));
  }
  return {};
}

/// Where it listens, against the others.
Status Config::CheckStreamListens(const StreamSettings& stream) const {
  if (stream.listen.empty()) return {};
  const std::string place = entries_.values.at("stream." + stream.name + ".listen").origin +
                            ": stream." + stream.name + ".listen: ";
  if (const Status status = CheckListenAddress(stream.listen); !status.ok())
    return InvalidArgument(place + status.message());
  const auto taken = [&](const std::string& whose) {
    return InvalidArgument(place + whose + " listens on " + stream.listen +
                           "; choose another address for one of the two");
  };
  for (const std::string& address : server_.listen)
    if (address == stream.listen) return taken("server.listen");
  for (const StreamSettings& other : streams_)
    if (other.listen == stream.listen) return taken("[stream." + other.name + ']');
  constexpr std::size_t kMostNumbers = 4096;
  const ForecastSettings& forecast = stream.forecast;
  const std::size_t values = forecast.targets.size() * forecast.horizons.size();
  if (values * (1 + forecast.quantiles.size()) <= kMostNumbers) return {};
  return InvalidArgument(place + "an answer has a number for each target, horizon and quantile, " +
                         "expected at most " + std::to_string(kMostNumbers) +
                         "; forecast fewer horizons");
}

/// Against what else is asked for, and the streams before it.
Status Config::CheckStream(const StreamSettings& stream) const {
  const auto refuse = [&](const std::string& why) {
    return InvalidArgument(stream.origin + ": " + why);
  };
  MURMURATE_RETURN_IF_ERROR(CheckStreamListens(stream));
  if (data().given())
    return refuse(
        "a learner of files takes nothing else; take [data] out, or serve the stream by "
        "itself");
  if (hogwild())
    return refuse(
        "rule = \"hogwild\" of [parameters] has several threads that take up batches in "
        "any order, and a stream's are learned in theirs; take that line out");
  if (run_.learners > 1)
    return refuse("each learner would read every message; take learners out of [run]");
  for (const StreamSettings& other : streams_)
    if (!stream.link.client_id.empty() && other.link.client_id == stream.link.client_id &&
        other.link.broker == stream.link.broker)
      return refuse("has the client_id of [stream." + other.name +
                    "], and a broker turns away the first of two clients of one name; choose "
                    "another");
  const auto model = ModelForStream(stream);
  if (model.ok()) return {};
  return refuse("its model cannot be made: " + model.status().message());
}

}  // namespace murmurate
