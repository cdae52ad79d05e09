#include "server/data/open_play.h"

#include <filesystem>

#include "server/data/episode_source.h"
#include "server/data/recording_source.h"

namespace murmurate {
namespace {

template <typename T>
Result<std::unique_ptr<DataSource>> AsSource(Result<std::unique_ptr<T>> opened) {
  if (!opened.ok()) return opened.status();
  return Result<std::unique_ptr<DataSource>>(*std::move(opened));
}

}  // namespace

Result<std::unique_ptr<DataSource>> OpenPlay(const std::string& folder, const Spaces* game) {
  std::error_code error;
  if (std::filesystem::exists(folder + "/observations.npy", error))
    return AsSource(EpisodeSource::Open(folder, game));
  return AsSource(RecordingSource::Open(folder));
}

}  // namespace murmurate
