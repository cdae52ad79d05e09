#include "server/operate/episode_means.h"

#include <string>
#include <vector>

#include "server/metrics/model_metrics.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

void SaveEpisodes(const EpisodeList& episodes, const std::string& name, const StateWriter& writer) {
  std::vector<double> returns;
  std::vector<std::uint64_t> lengths, success;
  for (const EpisodeRecord& episode : episodes) {
    returns.push_back(episode.raw_return);
    lengths.push_back(episode.length);
    success.push_back(episode.success);
  }
  writer.Doubles(name + "_returns", returns);
  writer.Words(name + "_lengths", lengths);
  writer.Words(name + "_success", success);
}

Status LoadEpisodes(const StateReader& reader, const std::string& name, EpisodeList* episodes) {
  const auto lengths = reader.AllWords(name + "_lengths");
  if (!lengths.ok()) return lengths.status();
  std::vector<double> returns(lengths->size());
  std::vector<std::uint64_t> success(lengths->size());
  MURMURATE_RETURN_IF_ERROR(reader.Doubles(name + "_returns", returns));
  MURMURATE_RETURN_IF_ERROR(reader.Words(name + "_success", success));
  for (std::size_t i = 0; i < returns.size() && i < kEpisodeWindow; ++i)
    episodes->push_back({returns[i], static_cast<std::uint32_t>((*lengths)[i]), 0,
                         static_cast<std::uint8_t>(success[i])});
  return {};
}

}  // namespace

void EpisodeMeans::Add(std::span<const EpisodeRecord> episodes) {
  for (const EpisodeRecord& episode : episodes) {
    if (episode.mode != 0) continue;
    ++episodes_;
    AppendToWindow(episode, &window_);
    if (episode.success != 0) AppendToWindow(episode, &said_);
  }
}

std::optional<double> EpisodeMeans::mean_return() const {
  if (window_.empty()) return std::nullopt;
  double sum = 0;
  for (const EpisodeRecord& episode : window_) sum += episode.raw_return;
  return sum / static_cast<double>(window_.size());
}

std::optional<double> EpisodeMeans::mean_length() const {
  if (window_.empty()) return std::nullopt;
  double sum = 0;
  for (const EpisodeRecord& episode : window_) sum += episode.length;
  return sum / static_cast<double>(window_.size());
}

void EpisodeMeans::PutInto(Reading* reading) const {
  reading->Set(kEpisodeCount, episodes());
  reading->Set(kMeanReturn, mean_return());
  reading->Set(kMeanLength, mean_length());
  reading->Set(kSuccessRate, success_rate());
}

void EpisodeMeans::Save(const StateWriter& writer) const {
  SaveEpisodes(window_, "window", writer);
  SaveEpisodes(said_, "said", writer);
}

Status EpisodeMeans::Load(const StateReader& reader, std::uint64_t episodes) {
  episodes_ = episodes;
  MURMURATE_RETURN_IF_ERROR(LoadEpisodes(reader, "window", &window_));
  return LoadEpisodes(reader, "said", &said_);
}

}  // namespace murmurate
