#include "server/data/array_source.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "shared/core/check.h"
#include "shared/trajectory/finite.h"

namespace murmurate {
namespace {

Space Joined(const std::vector<NamedPath>& paths, std::vector<Space> leaves) {
  if (paths.size() == 1 && paths[0].name.empty()) return leaves[0];
  std::vector<std::pair<std::string, Space>> named;
  for (std::size_t i = 0; i < paths.size(); ++i) named.emplace_back(paths[i].name, leaves[i]);
  return Dict(named);
}

Status CheckNames(const std::vector<NamedPath>& paths, const std::string& what) {
  if (paths.empty())
    return InvalidArgument("data." + what + ": no file is named; write for example " + what +
                           " = \"" + what + ".npy\"");
  const auto nameless = std::find_if(paths.begin(), paths.end(),
                                     [](const NamedPath& path) { return path.name.empty(); });
  if (paths.size() == 1 || nameless == paths.end()) return {};
  return InvalidArgument("data." + what + ": " + nameless->path +
                         ": has no name beside other files; write \"name: " + nameless->path + '"');
}

/// The classes of a column of labels; every one is within [0, classes).
Result<int> ClassesOf(const NpyFile& file, std::uint64_t column, int classes) {
  const std::uint64_t stride = file.sample_elements();
  std::int64_t largest = 0;
  for (std::uint64_t i = 0; i < file.samples(); ++i) {
    const std::int64_t label = file.Integer(i * stride + column);
    largest = std::max(largest, label);
    if (label >= 0 && label < (classes > 0 ? classes : 4096)) continue;
    return InvalidData(file.path() + ": sample " + std::to_string(i) + " has the label " +
                       std::to_string(label) + ", expected 0 to " +
                       std::to_string((classes > 0 ? classes : 4096) - 1) +
                       "; correct it, or data.classes");
  }
  return classes > 0 ? classes : std::max(2, static_cast<int>(largest) + 1);
}

Result<Space> LabelSpace(const NpyFile& file, int classes) {
  const std::vector<int>& shape = file.sample_shape();
  if (IsFloat(file.element())) return Box(shape.empty() ? std::vector<int>{1} : shape);
  if (shape.size() > 1)
    return InvalidArgument(file.path() + ": labels that are integers have " +
                           std::to_string(shape.size() + 1) +
                           " dimensions, expected [samples] or [samples, variables]; save floats "
                           "for regression");
  std::vector<int> choices;
  for (std::uint64_t i = 0; i < file.sample_elements(); ++i) {
    const Result<int> count = ClassesOf(file, i, classes);
    if (!count.ok()) return count.status();
    choices.push_back(*count);
  }
  return MultiDiscrete(choices);
}

Status NotFinite(const NpyFile& file, std::uint64_t item) {
  return InvalidData(file.path() + ": sample " + std::to_string(item) +
                     " holds a number that is not finite; take it out, or replace it");
}

}  // namespace

Result<std::unique_ptr<ArraySource>> ArraySource::Open(const ArrayFiles& files) {
  std::unique_ptr<ArraySource> source(new ArraySource());
  MURMURATE_RETURN_IF_ERROR(CheckNames(files.observations, "observations"));
  MURMURATE_RETURN_IF_ERROR(CheckNames(files.labels, "labels"));
  MURMURATE_RETURN_IF_ERROR(source->OpenInputs(files.observations));
  MURMURATE_RETURN_IF_ERROR(source->OpenLabels(files.labels, files.classes));
  if (Status status = CheckSpaces(source->spaces_); !status.ok())
    return InvalidArgument(source->inputs_.front().path() + " and " +
                           source->labels_.front().path() + ": " + status.message());
  return source;
}

Status ArraySource::CountSamples(const NpyFile& file) {
  const NpyFile& first = inputs_.front();
  samples_ = first.samples();
  if (file.samples() == samples_) return {};
  return InvalidData(file.path() + ": has " + std::to_string(file.samples()) + " samples and " +
                     first.path() + " has " + std::to_string(samples_) +
                     "; give files of the same samples");
}

Status ArraySource::OpenInputs(const std::vector<NamedPath>& paths) {
  std::vector<Space> leaves;
  for (const NamedPath& path : paths) {
    Result<NpyFile> file = NpyFile::Open(path.path);
    if (!file.ok()) return file.status();
    std::vector<int> shape = file->sample_shape();
    if (shape.empty()) shape = {1};
    if (!IsFloat(file->element()) && file->element() != NpyElement::kUint8)
      return InvalidArgument(path.path + ": observations of " + NameOf(file->element()) +
                             ", expected float32, float64 or uint8; save "
                             "array.astype(numpy.float32)");
    leaves.push_back(file->element() == NpyElement::kUint8 ? Image(shape) : Box(shape));
    inputs_.push_back(*std::move(file));
    MURMURATE_RETURN_IF_ERROR(CountSamples(inputs_.back()));
  }
  spaces_.observation = Joined(paths, std::move(leaves));
  return {};
}

Status ArraySource::OpenLabels(const std::vector<NamedPath>& paths, int classes) {
  std::vector<Space> leaves;
  for (const NamedPath& path : paths) {
    Result<NpyFile> file = NpyFile::Open(path.path);
    if (!file.ok()) return file.status();
    Result<Space> space = LabelSpace(*file, classes);
    if (!space.ok()) return space.status();
    leaves.push_back(*std::move(space));
    labels_.push_back(*std::move(file));
    MURMURATE_RETURN_IF_ERROR(CountSamples(labels_.back()));
  }
  spaces_.action = Joined(paths, std::move(leaves));
  return {};
}

Status ArraySource::PrepareFor(const ModelSpec& model, int length) {
  const TrajectoryLayout layout(model, length);
  const std::string difference = FirstDifference(model.spaces, spaces_);
  if (!difference.empty())
    return InvalidData(inputs_.front().path() + ": has other spaces (" + difference + ')');
  if (model.previous.any())
    return InvalidArgument(
        "model.previous_action and model.previous_reward: the samples of " +
        inputs_.front().path() +
        " have no step before them; take the setting out, or record trajectories");
  if (layout.state_floats == 0 && layout.frames == 0) return {};
  return InvalidArgument(
      "model.recurrent and model.frame_stack: a model that remembers or stacks needs sequences, "
      "and "
      "the samples of " +
      inputs_.front().path() + " have no order; take the setting out, or record trajectories");
}

std::uint64_t ArraySource::ItemsOf(const TrainingBatch& batch) const {
  return static_cast<std::uint64_t>(batch.rows());
}

Status ArraySource::PutObservation(std::uint64_t item, const ObservationLayout& layout,
                                   std::byte* row) const {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const NpyFile& file = inputs_[i];
    std::byte* const to = row + layout.inputs()[i].offset_bytes;
    if (!IsFloat(file.element())) {
      std::memcpy(to, file.sample(item), file.sample_bytes());
      continue;
    }
    file.CopyFloats(item, to);
    if (!AllFinite(NumbersOf({to, file.sample_elements() * sizeof(float)})))
      return NotFinite(file, item);
  }
  return {};
}

Status ArraySource::PutLabel(std::uint64_t item, std::int32_t* words) const {
  for (const NpyFile& file : labels_) {
    const std::size_t count = file.sample_elements();
    if (IsFloat(file.element())) {
      file.CopyFloats(item, words);
      if (!AllFinite({reinterpret_cast<const float*>(words), count})) return NotFinite(file, item);
    } else {
      for (std::size_t i = 0; i < count; ++i)
        words[i] = static_cast<std::int32_t>(file.Integer(item * count + i));
    }
    words += count;
  }
  return {};
}

Status ArraySource::Fill(std::span<const std::uint64_t> items, TrainingBatch* batch) const {
  const std::size_t length = static_cast<std::size_t>(batch->length);
  const std::size_t row_words = batch->layout.row_words();
  const std::size_t words = static_cast<std::size_t>(batch->layout.action.words());
  for (std::size_t row = 0; row < items.size(); ++row) {
    auto* const to = reinterpret_cast<std::byte*>(batch->observation.data() + row * row_words);
    MURMURATE_RETURN_IF_ERROR(PutObservation(items[row], batch->layout.observation, to));
    MURMURATE_RETURN_IF_ERROR(PutLabel(items[row], batch->action.data() + row * words));
  }
  const std::size_t count = items.size();
  std::fill_n(batch->log_prob.data(), count, 0.0f);
  std::fill_n(batch->reward.data(), count, 0.0f);
  std::fill_n(batch->flags.data(), count, std::uint8_t{kFirst});
  std::fill_n(batch->weight.data(), count, 1.0f);
  for (std::size_t first = 0; first < count; first += length) {
    const int steps = static_cast<int>(std::min(length, count - first));
    batch->trajectories.push_back({.first_step = first, .steps = steps});
  }
  return {};
}

std::vector<DataFile> ArraySource::files() const {
  std::vector<DataFile> files;
  for (const auto* arrays : {&inputs_, &labels_})
    for (const NpyFile& file : *arrays)
      files.push_back({file.path(), file.file_bytes(), file.samples(), file.fingerprint()});
  return files;
}

std::vector<std::string> ArraySource::Notes() const {
  std::vector<std::string> notes;
  for (const auto* arrays : {&inputs_, &labels_})
    for (const NpyFile& file : *arrays)
      if (file.element() == NpyElement::kFloat64)
        notes.push_back(file.path() + ": its float64 numbers are learned from as float32");
  return notes;
}

std::string ArraySource::Description() const {
  return std::to_string(samples_) + " samples of " + inputs_.front().path();
}

}  // namespace murmurate
