#include "server/data/episode_source.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "server/data/array_opener.h"
#include "server/metrics/number_text.h"
#include "shared/core/check.h"
#include "shared/trajectory/finite.h"

namespace murmurate {
namespace {

constexpr std::int64_t kMostChoices = 4096;

Status OpenOne(const std::string& folder, const char* name, bool needed,
               std::unique_ptr<SampleArray>* to) {
  const std::string path = folder + '/' + name + ".npy";
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    if (!needed) return {};
    return InvalidArgument(path +
                           ": is not there; episodes are observations.npy, actions.npy, "
                           "rewards.npy and terminations.npy of one folder");
  }
  auto array = OpenArray(path, ArrayUse::kLabels);
  if (!array.ok()) return array.status();
  *to = *std::move(array);
  return {};
}

Status Unfit(const SampleArray& array, const std::string& expected) {
  std::vector<std::uint64_t> shape = {array.samples()};
  for (const int size : array.sample_shape()) shape.push_back(static_cast<std::uint64_t>(size));
  return InvalidArgument(array.name() + ": has " + NameOf(array.element()) + ' ' + InWords(shape) +
                         ", expected " + expected);
}

Status NotFinite(const SampleArray& array, std::uint64_t row) {
  return InvalidData(array.name() + ": row " + std::to_string(row) +
                     " holds a number that is not finite; take its episode out");
}

}  // namespace

Result<std::unique_ptr<EpisodeSource>> EpisodeSource::Open(const std::string& folder,
                                                           const Spaces* game) {
  std::unique_ptr<EpisodeSource> source(new EpisodeSource(folder));
  MURMURATE_RETURN_IF_ERROR(source->OpenArrays());
  MURMURATE_RETURN_IF_ERROR(source->CheckShapes());
  MURMURATE_RETURN_IF_ERROR(source->FindSpaces(game));
  MURMURATE_RETURN_IF_ERROR(source->CheckActions());
  MURMURATE_RETURN_IF_ERROR(source->CutEpisodes());
  if (source->items_.empty())
    return InvalidData(folder + ": no step lies in its " +
                       WithCommas(source->observations_->samples()) +
                       " rows whose next observation is known; give longer episodes, or "
                       "next_observations.npy");
  return source;
}

Status EpisodeSource::OpenArrays() {
  MURMURATE_RETURN_IF_ERROR(OpenOne(folder_, "observations", true, &observations_));
  MURMURATE_RETURN_IF_ERROR(OpenOne(folder_, "actions", true, &actions_));
  MURMURATE_RETURN_IF_ERROR(OpenOne(folder_, "rewards", true, &rewards_));
  MURMURATE_RETURN_IF_ERROR(OpenOne(folder_, "terminations", true, &terminations_));
  MURMURATE_RETURN_IF_ERROR(OpenOne(folder_, "truncations", false, &truncations_));
  return OpenOne(folder_, "next_observations", false, &next_observations_);
}

Status EpisodeSource::CheckShapes() const {
  for (const SampleArray* array : {actions_.get(), rewards_.get(), terminations_.get(),
                                   truncations_.get(), next_observations_.get()}) {
    if (array == nullptr || array->samples() == observations_->samples()) continue;
    return InvalidData(array->name() + ": has " + WithCommas(array->samples()) + " rows and " +
                       observations_->name() + " has " + WithCommas(observations_->samples()) +
                       "; give arrays of the same steps");
  }
  const SampleElement seen = observations_->element();
  if (!IsFloat(seen) && seen != SampleElement::kUint8)
    return Unfit(*observations_, "float32, float64 or uint8; save array.astype(numpy.float32)");
  if (next_observations_ && (next_observations_->element() != seen ||
                             next_observations_->sample_shape() != observations_->sample_shape()))
    return Unfit(*next_observations_, "the type and the shape of observations.npy");
  if (!IsFloat(rewards_->element()) || rewards_->sample_elements() != 1)
    return Unfit(*rewards_, "float32 or float64 of one number a row");
  for (const SampleArray* flags : {terminations_.get(), truncations_.get()})
    if (flags != nullptr && (IsFloat(flags->element()) || flags->sample_elements() != 1))
      return Unfit(*flags, "bool or whole numbers, one a row; save array.astype(bool)");
  if (actions_->sample_shape().size() > 1)
    return Unfit(*actions_, "one number a row, or one dimension of them");
  return {};
}

Status EpisodeSource::FindSpaces(const Spaces* game) {
  std::vector<int> shape = observations_->sample_shape();
  if (shape.empty()) shape = {1};
  spaces_.observation =
      observations_->element() == SampleElement::kUint8 ? Image(shape) : Box(shape);
  if (game == nullptr) {
    auto action = ActionSpace();
    if (!action.ok()) return action.status();
    spaces_.action = *std::move(action);
    return CheckSpaces(spaces_);
  }
  const ObservationLayout own(spaces_.observation), theirs(game->observation);
  const bool fits = theirs.inputs().size() == 1 &&
                    theirs.inputs()[0].element == own.inputs()[0].element &&
                    theirs.inputs()[0].elements == own.inputs()[0].elements &&
                    game->privileged.kind == Space::Kind::kNone;
  if (!fits) return Unfit(*observations_, "what the game shows at a step");
  spaces_ = *game;
  return {};
}

/// The box that all numbers lie in, or choices as many as there are.
Result<Space> EpisodeSource::ActionSpace() const {
  const std::size_t count = actions_->sample_elements();
  std::vector<float> low(count, HUGE_VALF), high(count, -HUGE_VALF), numbers(count);
  std::vector<int> choices(count, 2);
  for (std::uint64_t row = 0; row < actions_->samples(); ++row) {
    const std::byte* const at = actions_->Sample(row);
    if (at == nullptr) return actions_->Fault();
    if (IsFloat(actions_->element())) {
      actions_->CopyFloats(at, numbers.data());
      if (!AllFinite(numbers)) return NotFinite(*actions_, row);
      for (std::size_t k = 0; k < count; ++k) {
        low[k] = std::min(low[k], numbers[k]);
        high[k] = std::max(high[k], numbers[k]);
      }
      continue;
    }
    for (std::size_t k = 0; k < count; ++k)
      choices[k] = std::max(choices[k], static_cast<int>(std::clamp<std::int64_t>(
                                            actions_->Integer(at, k) + 1, 0, kMostChoices)));
  }
  if (!IsFloat(actions_->element())) return MultiDiscrete(choices);
  for (std::size_t k = 0; k < count; ++k)
    if (low[k] == high[k])
      return InvalidData(actions_->name() + ": number " + std::to_string(k) +
                         " of an action is the same in all rows; take it out");
  return Box({static_cast<int>(count)}, low, high);
}

/// Every recorded action is one of the space.
Status EpisodeSource::CheckActions() const {
  const ActionLayout layout(spaces_.action);
  const bool numbers = layout.has_numbers();
  const bool one_part = layout.parts().size() == 1;
  if (!one_part || numbers != IsFloat(actions_->element()) ||
      static_cast<std::size_t>(layout.words()) != actions_->sample_elements())
    return Unfit(*actions_, "an action of the game");
  std::vector<std::int32_t> words(static_cast<std::size_t>(layout.words()));
  for (std::uint64_t row = 0; row < actions_->samples(); ++row) {
    MURMURATE_RETURN_IF_ERROR(CopyAction(row, words.data()));
    if (numbers && !AllFinite({reinterpret_cast<const float*>(words.data()), words.size()}))
      return NotFinite(*actions_, row);
    if (const Status status = layout.CheckAction(words.data()); !status.ok())
      return InvalidData(actions_->name() + ": row " + std::to_string(row) + ": " +
                         status.message());
  }
  return {};
}

Result<bool> EpisodeSource::Flag(const SampleArray* array, std::uint64_t row) const {
  if (array == nullptr) return false;
  const std::byte* const at = array->Sample(row);
  if (at == nullptr) return array->Fault();
  return array->Integer(at, 0) != 0;
}

Status EpisodeSource::CutEpisodes() {
  const std::uint64_t rows = observations_->samples();
  std::uint64_t first = 0;
  for (std::uint64_t row = 0; row < rows; ++row) {
    const auto terminated = Flag(terminations_.get(), row), cut = Flag(truncations_.get(), row);
    if (!terminated.ok()) return terminated.status();
    if (!cut.ok()) return cut.status();
    if (!*terminated && !*cut && row + 1 < rows) continue;
    const bool known = *terminated || next_observations_ != nullptr;
    MURMURATE_RETURN_IF_ERROR(AddEpisode(first, known ? row + 1 : row, *terminated));
    first = row + 1;
  }
  return {};
}

/// Steps [first, end), the last of which terminates the episode or is cut.
Status EpisodeSource::AddEpisode(std::uint64_t first, std::uint64_t end, bool terminated) {
  double sum = 0.0;
  for (std::uint64_t row = first; row < end; ++row) {
    const std::byte* const at = rewards_->Sample(row);
    if (at == nullptr) return rewards_->Fault();
    float reward = 0.0f;
    rewards_->CopyFloats(at, &reward);
    if (!std::isfinite(reward)) return NotFinite(*rewards_, row);
    sum += double{reward};
  }
  for (std::uint64_t begin = first; begin < end; begin += kSteps) {
    const auto steps = static_cast<int>(std::min<std::uint64_t>(kSteps, end - begin));
    const bool last = begin + static_cast<std::uint64_t>(steps) == end;
    items_.push_back({.first = begin,
                      .steps = steps,
                      .episode = first,
                      .cut = last && !terminated,
                      .terminated = last && terminated});
  }
  if (first == end) return {};
  steps_ += end - first;
  returns_ += sum;
  ++episodes_;
  return {};
}

Status EpisodeSource::PrepareFor(const ModelSpec& model, int length) {
  const std::string difference = FirstDifference(model.spaces, spaces_);
  if (!difference.empty()) return InvalidData(folder_ + ": has other spaces (" + difference + ')');
  if (length < kSteps)
    return InvalidArgument("algorithm.trajectory_length: got " + std::to_string(length) +
                           ", expected at least " + std::to_string(kSteps) +
                           ", the length of the pieces that " + folder_ + " is read in");
  if (model.previous.any() || model.recurrent())
    return InvalidArgument(
        folder_ + ": episodes in arrays are read in pieces of " + std::to_string(kSteps) +
        " steps, without what a model remembers or did before them; take model.recurrent, "
        "model.previous_action and model.previous_reward out, or record trajectories");
  head_ = std::make_unique<ActionHead>(ActionLayout(spaces_.action, model.continuous));
  return {};
}

std::uint64_t EpisodeSource::ItemsOf(const TrainingBatch& batch) const {
  return static_cast<std::uint64_t>(batch.capacity);
}

Status EpisodeSource::CopyObservation(const SampleArray& array, std::uint64_t row,
                                      std::byte* to) const {
  const std::byte* const at = array.Sample(row);
  if (at == nullptr) return array.Fault();
  if (!IsFloat(array.element())) {
    std::memcpy(to, at, array.sample_bytes());
    return {};
  }
  array.CopyFloats(at, to);
  if (!AllFinite(NumbersOf({to, array.sample_elements() * sizeof(float)})))
    return NotFinite(array, row);
  return {};
}

Status EpisodeSource::CopyAction(std::uint64_t row, std::int32_t* words) const {
  const std::byte* const at = actions_->Sample(row);
  if (at == nullptr) return actions_->Fault();
  if (IsFloat(actions_->element())) {
    actions_->CopyFloats(at, words);
    return {};
  }
  for (std::size_t k = 0; k < actions_->sample_elements(); ++k)
    words[k] = static_cast<std::int32_t>(
        std::clamp<std::int64_t>(actions_->Integer(at, k), -1, kMostChoices));
  return {};
}

Status EpisodeSource::CopySeenAfter(std::uint64_t row, std::byte* to) const {
  return next_observations_ != nullptr ? CopyObservation(*next_observations_, row, to)
                                       : CopyObservation(*observations_, row + 1, to);
}

/// A trajectory as it is put together; a thread's first ones allocate.
struct EpisodeSource::Columns {
  std::vector<std::byte> rows, zeros;
  std::vector<std::int32_t> action;
  std::vector<float> reward, log_prob;
  std::vector<std::uint8_t> flags;
};

Status EpisodeSource::CopySteps(const Item& item, const TrajectoryLayout& layout,
                                Columns* columns) const {
  auto& [rows, zeros, action, reward, log_prob, flags] = *columns;
  const std::size_t bytes = layout.row_bytes(), steps = static_cast<std::size_t>(item.steps),
                    words = static_cast<std::size_t>(layout.action.words()),
                    frames = static_cast<std::size_t>(layout.frames);
  rows.assign((frames + steps + 1) * bytes, std::byte{});
  zeros.assign(bytes, std::byte{});
  action.resize(steps * words);
  reward.resize(steps);
  log_prob.assign(steps, 0.0f);
  flags.assign(steps, 0);
  for (std::size_t age = 1; age <= std::min<std::size_t>(frames, item.first - item.episode); ++age)
    MURMURATE_RETURN_IF_ERROR(
        CopyObservation(*observations_, item.first - age, &rows[(frames - age) * bytes]));
  for (std::size_t step = 0; step < steps; ++step) {
    const std::uint64_t row = item.first + step;
    MURMURATE_RETURN_IF_ERROR(CopyObservation(*observations_, row, &rows[(frames + step) * bytes]));
    MURMURATE_RETURN_IF_ERROR(CopyAction(row, &action[step * words]));
    head_->FromGame(&action[step * words], nullptr, &action[step * words]);
    const std::byte* const at = rewards_->Sample(row);
    if (at == nullptr) return rewards_->Fault();
    rewards_->CopyFloats(at, &reward[step]);
  }
  if (item.first == item.episode) flags.front() |= kFirst;
  if (item.terminated) flags.back() |= kTerminatedFlag;
  if (item.cut) flags.back() |= kTruncatedFlag;
  if (item.terminated) return {};
  return CopySeenAfter(item.first + steps - 1, &rows[(frames + steps) * bytes]);
}

Status EpisodeSource::FillOne(const Item& item, TrainingBatch* batch) const {
  thread_local Columns columns;
  const TrajectoryLayout& layout = batch->layout;
  MURMURATE_RETURN_IF_ERROR(CopySteps(item, layout, &columns));
  const std::size_t bytes = layout.row_bytes(), steps = static_cast<std::size_t>(item.steps),
                    before = static_cast<std::size_t>(layout.frames) * bytes;
  const std::span<const std::byte> rows(columns.rows), after = rows.last(bytes);
  TrajectoryView view;
  view.first_step = item.first;
  view.steps = item.steps;
  view.frames0 = rows.first(before);
  view.observation = rows.subspan(before, steps * bytes);
  view.action = columns.action;
  view.log_prob = columns.log_prob;
  view.reward = columns.reward;
  view.flags = columns.flags;
  view.next_observation = item.cut ? std::span<const std::byte>(columns.zeros) : after;
  if (item.cut) view.final_observation = after;
  if (batch->Add(view)) return {};
  return InvalidData(folder_ + ": row " + std::to_string(item.first) +
                     " has an observation that the game does not have; take its episode out");
}

Status EpisodeSource::Fill(std::span<const std::uint64_t> items, TrainingBatch* batch) const {
  for (const std::uint64_t item : items) MURMURATE_RETURN_IF_ERROR(FillOne(items_[item], batch));
  return {};
}

std::vector<DataFile> EpisodeSource::files() const {
  std::vector<DataFile> files;
  for (const SampleArray* array :
       {observations_.get(), actions_.get(), rewards_.get(), terminations_.get(),
        truncations_.get(), next_observations_.get()}) {
    if (array == nullptr) continue;
    const std::vector<DataFile> of = array->files();
    files.insert(files.end(), of.begin(), of.end());
  }
  return files;
}

std::string EpisodeSource::Description() const {
  return std::to_string(steps_) + " steps of the arrays in " + folder_;
}

std::string EpisodeSource::Returns() const {
  return std::to_string(episodes_) + " recorded episodes have a mean return of " +
         FormatNumber("%.1f", returns_ / static_cast<double>(episodes_));
}

std::vector<std::string> EpisodeSource::Notes() const {
  std::vector<std::string> notes = {folder_ + ": its " + Returns()};
  for (const SampleArray* array : {observations_.get(), actions_.get(), rewards_.get()})
    for (std::string& note : array->Notes()) notes.push_back(std::move(note));
  return notes;
}

}  // namespace murmurate
