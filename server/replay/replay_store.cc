#include "server/replay/replay_store.h"

#include <algorithm>
#include <array>
#include <utility>

#include "server/data/record_format.h"
#include "server/experience/memory_room.h"
#include "server/metrics/number_text.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

constexpr std::uint64_t kLeastSegmentBytes = 16u << 20;

/// The first row of a slot without steps.
constexpr std::uint64_t kNoRow = ~std::uint64_t{0};

std::string Gigabytes(std::uint64_t bytes) {
  return FormatNumber("%.2f", static_cast<double>(bytes) * 1e-9) + " GB";
}

}  // namespace

std::size_t ReplayStore::BytesFor(const ReplaySettings& settings, const TrajectoryLayout& layout,
                                  bool places) {
  return KeptSteps::BytesFor(settings, layout) + SampleBatch::BytesFor(settings, layout, places);
}

Status ReplayStore::CheckRoom(const ReplaySettings& settings, std::uint64_t bytes) {
  const std::uint64_t room = MemoryRoom();
  if (bytes <= room) return {};
  return ResourceError("a replay of " + WithCommas(settings.capacity) + " steps takes " +
                       Gigabytes(bytes) + ", and " + Gigabytes(room) +
                       " are free; lower replay.capacity");
}

Result<std::unique_ptr<ReplayStore>> ReplayStore::Make(const ReplaySettings& settings,
                                                       const StoreSetup& setup) {
  MURMURATE_RETURN_IF_ERROR(CheckReplaySettings(settings, setup.layout));
  MURMURATE_RETURN_IF_ERROR(CheckRoom(settings, BytesFor(settings, setup.layout, setup.places)));
  return std::make_unique<ReplayStore>(settings, setup);
}

ReplayStore::ReplayStore(const ReplaySettings& settings, const StoreSetup& setup)
    : settings_(settings),
      layout_(setup.layout),
      seed_(setup.seed),
      block_(KeptSteps::BytesFor(settings, setup.layout)),
      kept_(settings, setup.layout, setup.seed, BlockCursor(block_.bytes()), setup.places),
      samples_(settings, setup.layout, &kept_, setup.memory),
      limiter_(settings) {}

void ReplayStore::KeepOnDisk(std::unique_ptr<ReplayLog> log) {
  disk_ = std::make_unique<ReplayOnDisk>(std::move(log), layout_);
}

Status ReplayStore::KeepIn(const StoreFolder& folder) {
  const std::uint64_t quarter = block_.bytes().size() / 4;
  const std::uint64_t segment_bytes =
      std::max<std::uint64_t>(std::clamp(quarter, kLeastSegmentBytes, ReplayLog::kSegmentBytes),
                              2 * MaxRecordBytes(layout_));
  auto log = ReplayLog::Open(folder.path, folder.model, folder.spec, layout_, segment_bytes);
  if (!log.ok()) return log.status();
  KeepOnDisk(*std::move(log));
  return {};
}

void ReplayStore::Seal(const StateReader& saved, const StateWriter& section) {
  if (disk_ != nullptr) disk_->Seal(saved, section);
}

void ReplayStore::Written(const StateReader& saved) {
  if (disk_ != nullptr) disk_->Written(saved);
}

void ReplayStore::Insert(std::unique_ptr<TrainingBatch> batch) {
  MURMURATE_CHECK(fresh_.batch == nullptr, "the last batch was released");
  fresh_.batch = std::move(batch);
  fresh_.batch->Sort();
  fresh_.raw_rewards.assign(fresh_.batch->reward.begin(), fresh_.batch->reward.end());
  fresh_.is_new = true;
  left_out_ = false;
}

TrainingBatch* ReplayStore::Next() {
  MURMURATE_CHECK(given_ == Given::kNothing, "the last batch was learned from");
  if (fresh_.is_new) {
    given_ = Given::kFresh;
    return fresh_.batch.get();
  }
  given_updates_ = left_out_ || kept_.windows().closed() == 0 ? 0 : limiter_.UpdatesDue();
  if (given_updates_ == 0) return nullptr;
  limiter_.Given(given_updates_);
  given_ = Given::kSamples;
  return samples_.Draw(given_updates_);
}

void ReplayStore::Learned(const LearnedBatch& result) {
  MURMURATE_CHECK(given_ != Given::kNothing, "a batch was given");
  left_out_ |= !result.learned;
  if (std::exchange(given_, Given::kNothing) == Given::kFresh)
    LearnedFresh(result);
  else
    LearnedSamples(result);
}

void ReplayStore::LearnedFresh(const LearnedBatch& result) {
  fresh_.is_new = false;
  if (!result.learned) return;
  counts_.credit +=
      fresh_.batch->trajectories.size() - static_cast<std::size_t>(fresh_.batch->extra_slots);
  counts_.steps += result.steps;
  ++counts_.batches;
  if (fresh_.batch->samples == TrainingBatch::Samples::kHeldOut) return;
  Keep(*fresh_.batch);
  if (!result.row_answers.empty()) SetFirstErrors(*fresh_.batch, result.row_answers);
}

void ReplayStore::Keep(const TrainingBatch& batch) {
  fresh_.inserted_rows.assign(batch.trajectories.size(), kNoRow);
  for (std::size_t slot = 0; slot < batch.trajectories.size(); ++slot) {
    TrajectoryView view = batch.View(static_cast<int>(slot));
    if (view.steps == 0) continue;
    view.reward = std::span(fresh_.raw_rewards)
                      .subspan(slot * static_cast<std::size_t>(batch.length), view.reward.size());
    view.episodes = {};
    fresh_.inserted_rows[slot] = KeepTrajectory(view);
    limiter_.Inserted(static_cast<std::uint64_t>(view.steps));
  }
  if (disk_ != nullptr) disk_->Write(kept_.rows().chunks(), kept_.chunk_copy());
}

/// Its first row.
std::uint64_t ReplayStore::KeepTrajectory(const TrajectoryView& view) {
  const std::uint64_t oldest = kept_.rows().chunks().first();
  const std::uint64_t first = kept_.Keep(view);
  if (disk_ != nullptr) disk_->Evicted(kept_.rows().chunks().first() - oldest);
  return first;
}

/// `errors` are of the rows that weighed when the learner had the batch.
void ReplayStore::SetFirstErrors(const TrainingBatch& batch, std::span<const float> errors) {
  auto error = errors.begin();
  for (std::size_t slot = 0; slot < batch.trajectories.size(); ++slot) {
    const std::size_t begin = slot * static_cast<std::size_t>(batch.length);
    const auto steps = static_cast<std::size_t>(batch.trajectories[slot].steps);
    for (std::size_t step = 0; step < steps; ++step) {
      if (batch.weight[begin + step] <= 0.0f) continue;
      MURMURATE_CHECK(error != errors.end(), "an error for each row that weighs");
      kept_.sampler().SetError(fresh_.inserted_rows[slot] + step, *error++);
    }
  }
  MURMURATE_CHECK(error == errors.end(), "no more errors than rows that weigh");
}

void ReplayStore::LearnedSamples(const LearnedBatch& result) {
  if (!result.learned) return limiter_.GivenBack(given_updates_);
  if (!result.row_answers.empty()) samples_.SetErrors(result.row_answers);
}

Status ReplayStore::Demonstrate(const RecordedPlay& play) {
  if (settings_.demonstration_share <= 0.0) return FillWith(play);
  auto demonstrations = Demonstrations::Make(settings_, layout_, seed_, play);
  if (!demonstrations.ok()) return demonstrations.status();
  samples_.SetDemonstrations(std::move(*demonstrations));
  return {};
}

/// A replay that was loaded from a disk has what is left of them.
Status ReplayStore::FillWith(const RecordedPlay& play) {
  if (size() > 0) return {};
  if (play.steps() > settings_.capacity)
    return InvalidArgument("the replay begins with " + WithCommas(play.steps()) +
                           " recorded steps and keeps " + WithCommas(settings_.capacity) +
                           "; raise its capacity, or give fewer");
  MURMURATE_RETURN_IF_ERROR(
      play.Visit([this](const TrajectoryView& view) { (void)KeepTrajectory(view); }));
  if (disk_ != nullptr) disk_->Write(kept_.rows().chunks(), kept_.chunk_copy());
  return {};
}

std::unique_ptr<TrainingBatch> ReplayStore::Release() {
  if (fresh_.batch == nullptr || fresh_.is_new) return nullptr;
  fresh_.batch->Clear();
  return std::move(fresh_.batch);
}

std::string ReplayStore::Waiting() const {
  const std::string waiting = limiter_.Waiting();
  if (!waiting.empty() || kept_.windows().closed() > 0) return waiting;
  return "collects steps until a first sample of " + std::to_string(settings_.steps_of_sample()) +
         " is complete";
}

void ReplayStore::Save(const StateWriter& writer) const {
  limiter_.Save(writer);
  kept_.sampler().Save(writer);
  if (disk_ == nullptr || !disk_->Save(writer)) return;
  writer.Words("rows", std::array{kept_.rows().first_row(), kept_.rows().size()});
  kept_.sampler().SavePriorities(writer);
}

Status ReplayStore::Load(const StateReader& reader) {
  const bool filled = disk_ != nullptr && disk_->Holds(reader);
  MURMURATE_RETURN_IF_ERROR(limiter_.Load(reader, filled));
  if (filled) MURMURATE_RETURN_IF_ERROR(LoadSteps(reader));
  if (disk_ != nullptr && !filled) disk_->Leave(reader);
  return kept_.sampler().Load(reader);
}

Status ReplayStore::LoadSteps(const StateReader& reader) {
  std::array<std::uint64_t, 2> rows;
  MURMURATE_RETURN_IF_ERROR(reader.Words("rows", rows));
  kept_.BeginAt(rows[0]);
  MURMURATE_RETURN_IF_ERROR(
      disk_->Load(reader, [this](const TrajectoryView& view) { (void)KeepTrajectory(view); }));
  if (kept_.rows().first_row() != rows[0] || kept_.rows().size() != rows[1])
    return InvalidData(
        disk_->folder() + ": has " + WithCommas(kept_.rows().size()) + " steps of the " +
        WithCommas(rows[1]) +
        " that the replay of the checkpoint has; empty the folder to go on with none");
  return kept_.sampler().LoadPriorities(reader);
}

}  // namespace murmurate
