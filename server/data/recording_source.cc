#include "server/data/recording_source.h"

#include <algorithm>
#include <bit>

#include "server/data/fingerprint.h"
#include "server/data/record_format.h"
#include "server/data/recording_files.h"
#include "server/metrics/number_text.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

std::string FlagsOf(const PreviousInputs& previous) {
  return std::string(previous.action ? "true" : "false") + " and " +
         (previous.reward ? "true" : "false");
}

}  // namespace

Result<std::unique_ptr<RecordingSource>> RecordingSource::Open(const std::string& folder,
                                                               const std::string& model) {
  std::vector<SegmentFile> segments = ListSegments(folder);
  if (!model.empty()) {
    std::erase_if(segments, [&](const SegmentFile& file) { return file.model != model; });
  }
  if (segments.empty())
    return InvalidArgument(folder + ": holds no recording" +
                           (model.empty() ? "" : " of model " + model) +
                           "; make one with record.path, or give the folder that has its .traj "
                           "files");
  if (segments.front().model != segments.back().model)
    return InvalidArgument(folder + ": holds recordings of several models (" +
                           segments.front().model + ", " + segments.back().model +
                           "); move each to a folder of its own");
  std::unique_ptr<RecordingSource> source(new RecordingSource(folder));
  for (const SegmentFile& segment : segments)
    MURMURATE_RETURN_IF_ERROR(source->AddSegment(segment.path));
  if (source->records_.empty())
    return InvalidData(folder + ": no whole trajectory lies in its " +
                       std::to_string(segments.size()) + " files; record again");
  return source;
}

Status RecordingSource::AddSegment(const std::string& path) {
  Result<MappedFile> file = MappedFile::Open(path);
  if (!file.ok()) return file.status();
  const std::span<const std::byte> bytes = file->bytes();
  if (bytes.empty()) {  // its process was killed before the header was out
    ++skipped_;
    return {};
  }
  const Result<SegmentInfo> info = ReadSegmentHeader(bytes);
  if (!info.ok()) return InvalidData(path + ": " + info.status().message() + "; take it away");
  if (length_ == 0) {
    spec_ = info->spec;
    length_ = info->length;
  }
  const std::string difference = FirstDifference(spec_.spaces, info->spec.spaces);
  if (!difference.empty() || !(info->spec == spec_) || info->length != length_)
    return InvalidData(path + ": was recorded of another model than the files before it" +
                       (difference.empty() ? "" : " (" + difference + ")") +
                       "; move the files of each to a folder of their own");
  const TrajectoryLayout layout(spec_, length_);
  const std::size_t before = records_.size();
  for (std::size_t at = info->begin; at < bytes.size();) {
    const ReadRecord read = ReadRecordAt(bytes.subspan(at));
    const bool good = read.intact && read.view.steps > 0 && CheckTrajectory(read.view, layout).ok();
    if (good) {
      records_.push_back({bytes.data() + at, read.bytes});
      steps_ += static_cast<std::uint64_t>(read.view.steps);
      CountReturns(read.view);
    } else {
      ++skipped_;
    }
    if (read.bytes == 0) break;
    at += read.bytes;
  }
  segments_.push_back({path, bytes.size(), records_.size() - before, FingerprintOf(bytes)});
  files_.push_back(*std::move(file));
  return {};
}

void RecordingSource::CountReturns(const TrajectoryView& view) {
  for (const EpisodeRecord& episode : view.episodes) {
    if (episode.mode != 0) continue;
    ++episodes_;
    returns_ += episode.raw_return;
  }
}

Status RecordingSource::PrepareFor(const ModelSpec& model, int length) {
  const std::string difference = FirstDifference(model.spaces, spec_.spaces);
  if (!difference.empty())
    return InvalidData(folder_ + ": is a recording of other spaces (" + difference +
                       "); give one of this game");
  if (length < length_)
    return InvalidArgument("algorithm.trajectory_length: got " + std::to_string(length) +
                           ", expected at least " + std::to_string(length_) +
                           ", the length of the trajectories in " + folder_);
  const TrajectoryLayout layout(model, length);
  if (model.previous != spec_.previous)
    return InvalidArgument("model.previous_action and model.previous_reward: got " +
                           FlagsOf(model.previous) + ", but " + folder_ +
                           " was recorded by a model for which they were " +
                           FlagsOf(spec_.previous) + "; take its values");
  CompareUnits(layout.action);
  ModelSpec recorded = spec_;
  recorded.continuous.scaled = model.continuous.scaled;
  same_state_ = model == recorded;
  zeros_ = AlignedFloats(std::max(static_cast<std::size_t>(layout.state_floats),
                                  static_cast<std::size_t>(layout.frames) * layout.row_words()));
  return {};
}

void RecordingSource::CompareUnits(const ActionLayout& learned) {
  const ActionLayout recorded(spec_.spaces.action, spec_.continuous);
  const auto scale = [](const ActionPart& part, int i) {
    return part.scales.empty() ? ActionScale{} : part.scales[static_cast<std::size_t>(i)];
  };
  units_.clear();
  kinds_.reset();
  if (learned.settings().squashed != recorded.settings().squashed ||
      learned.settings().deterministic != recorded.settings().deterministic) {
    kinds_.emplace(Kinds{ActionHead(recorded), ActionHead(learned)});
    return;
  }
  for (std::size_t i = 0; i < learned.parts().size(); ++i) {
    const ActionPart& part = learned.parts()[i];
    for (int j = 0; j < part.count; ++j) {
      const Units units{part.first_word + j, scale(recorded.parts()[i], j), scale(part, j)};
      if (units.recorded != units.learned) units_.push_back(units);
    }
  }
}

/// The actions of the last trajectory in the batch.
void RecordingSource::Convert(TrainingBatch* batch) const {
  const std::size_t words = static_cast<std::size_t>(batch->layout.action.words());
  const std::size_t first = (batch->trajectories.size() - 1) * batch->length;
  for (int step = 0; step < batch->trajectories.back().steps; ++step) {
    std::int32_t* const row = batch->action.data() + (first + step) * words;
    if (kinds_) {
      kinds_->recorded.ToGame(row, row);
      kinds_->learned.FromGame(row, nullptr, row);
    }
    for (const Units& units : units_) {
      const double number = units.recorded.ToGame(std::bit_cast<float>(row[units.word]));
      row[units.word] = std::bit_cast<std::int32_t>(units.learned.ToSample(number));
    }
  }
}

std::uint64_t RecordingSource::ItemsOf(const TrainingBatch& batch) const {
  return static_cast<std::uint64_t>(batch.capacity);
}

Status RecordingSource::Fill(std::span<const std::uint64_t> items, TrainingBatch* batch) const {
  for (const std::uint64_t item : items) {
    const Record& record = records_[item];
    TrajectoryView view = ReadRecordAt({record.at, record.bytes}).view;
    view.episodes = {};
    if (!same_state_) {
      const std::size_t states = static_cast<std::size_t>(batch->layout.state_floats);
      const std::size_t rows =
          static_cast<std::size_t>(batch->layout.frames) * batch->layout.row_bytes();
      view.state0 = std::span<const float>(zeros_.data(), states);
      view.frames0 = view.frames0.size() >= rows
                         ? view.frames0.last(rows)
                         : RowsOf({zeros_.data(), zeros_.size()}).first(rows);
    }
    if (view.steps > 0 && batch->Add(view)) {
      Convert(batch);
      continue;
    }
    return InvalidData(folder_ + ": trajectory " + std::to_string(item) +
                       " has changed since it was first read; do not write into a recording");
  }
  return {};
}

std::string RecordingSource::Returns() const {
  if (episodes_ == 0) return "";
  return std::to_string(episodes_) + " recorded episodes have a mean return of " +
         FormatNumber("%.1f", returns_ / static_cast<double>(episodes_));
}

std::vector<std::string> RecordingSource::Notes() const {
  if (episodes_ == 0) return {};
  return {folder_ + ": its " + Returns()};
}

std::string RecordingSource::Description() const {
  return std::to_string(records_.size()) + " trajectories (" + std::to_string(steps_) +
         " steps) of " + folder_;
}

}  // namespace murmurate
