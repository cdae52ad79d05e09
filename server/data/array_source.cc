#include "server/data/array_source.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "server/data/array_opener.h"
#include "server/data/page_advice.h"
#include "server/experience/memory_room.h"
#include "shared/core/check.h"
#include "shared/trajectory/finite.h"

namespace murmurate {
namespace {

constexpr int kMostClasses = 4096;
constexpr std::uint64_t kBlockBytes = 512 << 10, kLeastGroup = 8;
/// A group in use, and one and a quarter that are read ahead, take two sevenths of the room.
constexpr std::uint64_t kGroupsInRoom = 8;
/// Files of several learners that are smaller are shuffled as one.
constexpr std::uint64_t kSharedBytes = std::uint64_t{1} << 30;
constexpr std::uint64_t kMostLearnersOfRoom = 8;

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

/// The classes of each variable of labels; every label is within them.
Result<std::vector<int>> ClassesOf(const SampleArray& array, int classes) {
  const std::int64_t end = classes > 0 ? classes : kMostClasses;
  std::vector<int> found(array.sample_elements(), classes > 0 ? classes : 2);
  for (std::uint64_t i = 0; i < array.samples(); ++i) {
    const std::byte* const sample = array.Sample(i);
    if (sample == nullptr) return array.Fault();
    for (std::size_t k = 0; k < found.size(); ++k) {
      const std::int64_t label = array.Integer(sample, k);
      if (label < 0 || label >= end)
        return InvalidData(array.name() + ": sample " + std::to_string(i) + " has the label " +
                           std::to_string(label) + ", expected 0 to " + std::to_string(end - 1) +
                           "; correct it, or data.classes, or make the labels floats if they are "
                           "quantities and no classes");
      found[k] = std::max(found[k], static_cast<int>(label) + 1);
    }
  }
  return found;
}

Result<Space> LabelSpace(const SampleArray& array, int classes) {
  const std::vector<int>& shape = array.sample_shape();
  if (IsFloat(array.element())) return Box(shape.empty() ? std::vector<int>{1} : shape);
  if (shape.size() > 1)
    return InvalidArgument(array.name() + ": labels that are integers have " +
                           std::to_string(shape.size() + 1) +
                           " dimensions, expected [samples] or [samples, variables]; save floats "
                           "for regression");
  Result<std::vector<int>> choices = ClassesOf(array, classes);
  if (!choices.ok()) return choices.status();
  return MultiDiscrete(*choices);
}

Status NotFinite(const SampleArray& array, std::uint64_t item) {
  return InvalidData(array.name() + ": sample " + std::to_string(item) +
                     " holds a number that is not finite; take it out, or replace it");
}

}  // namespace

Result<std::unique_ptr<ArraySource>> ArraySource::Open(const ArrayFiles& files) {
  std::unique_ptr<ArraySource> source(new ArraySource());
  MURMURATE_RETURN_IF_ERROR(CheckNames(files.observations, "observations"));
  MURMURATE_RETURN_IF_ERROR(CheckNames(files.labels, "labels"));
  MURMURATE_RETURN_IF_ERROR(source->OpenInputs(files.observations));
  MURMURATE_RETURN_IF_ERROR(source->OpenLabels(files.labels, files.classes));
  MURMURATE_RETURN_IF_ERROR(source->CheckSamples());
  source->PlanReading(files);
  if (Status status = CheckSpaces(source->spaces_); !status.ok())
    return InvalidArgument(source->inputs_.front()->name() + " and " +
                           source->labels_.front()->name() + ": " + status.message());
  return source;
}

Status ArraySource::CheckSamples() const {
  const SampleArray& first = *inputs_.front();
  for (const auto* arrays : {&inputs_, &labels_})
    for (const auto& array : *arrays) {
      MURMURATE_RETURN_IF_ERROR(CheckShards(*array));
      if (array->samples() != first.samples())
        return InvalidData(array->name() + ": has " + std::to_string(array->samples()) +
                           " samples and " + first.name() + " has " +
                           std::to_string(first.samples()) + "; give files of the same samples");
    }
  return {};
}

/// Arrays of several files are cut alike: otherwise a file that is missing would pair each sample
/// behind it with another one's label.
Status ArraySource::CheckShards(const SampleArray& array) const {
  const std::vector<DataFile> first = inputs_.front()->files(), files = array.files();
  if (files.size() == 1 || first.size() == 1) return {};
  for (std::size_t i = 0; i < std::min(files.size(), first.size()); ++i)
    if (files[i].items != first[i].items)
      return InvalidData(files[i].path + ": has " + std::to_string(files[i].items) +
                         " samples and " + first[i].path + " has " +
                         std::to_string(first[i].items) +
                         "; give files of the same samples, named in the same order");
  if (files.size() == first.size()) return {};
  return InvalidData(array.name() + ": matches " + std::to_string(files.size()) +
                     " files, the last " + files.back().path + ", and " + inputs_.front()->name() +
                     " matches " + std::to_string(first.size()) + ", the last " +
                     first.back().path + "; give as many of each");
}

Status ArraySource::OpenInputs(const std::vector<NamedPath>& paths) {
  std::vector<Space> leaves;
  for (const NamedPath& path : paths) {
    auto array = OpenArray(path.path, ArrayUse::kObservations);
    if (!array.ok()) return array.status();
    std::vector<int> shape = (*array)->sample_shape();
    if (shape.empty()) shape = {1};
    const SampleElement element = (*array)->element();
    if (!IsFloat(element) && element != SampleElement::kUint8)
      return InvalidArgument(path.path + ": observations of " + NameOf(element) +
                             ", expected float32, float64 or uint8; save "
                             "array.astype(numpy.float32)");
    leaves.push_back(element == SampleElement::kUint8 ? Image(shape) : Box(shape));
    inputs_.push_back(*std::move(array));
  }
  samples_ = inputs_.front()->samples();
  spaces_.observation = Joined(paths, std::move(leaves));
  return {};
}

Status ArraySource::OpenLabels(const std::vector<NamedPath>& paths, int classes) {
  std::vector<Space> leaves;
  for (const NamedPath& path : paths) {
    auto array = OpenArray(path.path, ArrayUse::kLabels);
    if (!array.ok()) return array.status();
    Result<Space> space = LabelSpace(**array, classes);
    if (!space.ok()) return space.status();
    leaves.push_back(*std::move(space));
    labels_.push_back(*std::move(array));
  }
  spaces_.action = Joined(paths, std::move(leaves));
  return {};
}

Status ArraySource::PrepareFor(const ModelSpec& model, int length) {
  const TrajectoryLayout layout(model, length);
  const std::string difference = FirstDifference(model.spaces, spaces_);
  if (!difference.empty())
    return InvalidData(inputs_.front()->name() + ": has other spaces (" + difference + ')');
  if (model.previous.any())
    return InvalidArgument(
        "model.previous_action and model.previous_reward: the samples of " +
        inputs_.front()->name() +
        " have no step before them; take the setting out, or record trajectories");
  if (layout.state_floats == 0 && layout.frames == 0) return {};
  return InvalidArgument(
      "model.recurrent and model.frame_stack: a model that remembers or stacks needs sequences, "
      "and "
      "the samples of " +
      inputs_.front()->name() + " have no order; take the setting out, or record trajectories");
}

std::uint64_t ArraySource::ItemsOf(const TrainingBatch& batch) const {
  return static_cast<std::uint64_t>(batch.rows());
}

Status ArraySource::PutObservation(std::uint64_t item, const ObservationLayout& layout,
                                   std::byte* row) const {
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const SampleArray& array = *inputs_[i];
    std::byte* const to = row + layout.inputs()[i].offset_bytes;
    const std::byte* const sample = array.Sample(item);
    if (sample == nullptr) return array.Fault();
    if (!IsFloat(array.element())) {
      std::memcpy(to, sample, array.sample_bytes());
      continue;
    }
    array.CopyFloats(sample, to);
    if (!AllFinite(NumbersOf({to, array.sample_elements() * sizeof(float)})))
      return NotFinite(array, item);
  }
  return {};
}

Status ArraySource::PutLabel(std::uint64_t item, std::int32_t* words) const {
  for (const auto& label : labels_) {
    const SampleArray& array = *label;
    const std::size_t count = array.sample_elements();
    const std::byte* const sample = array.Sample(item);
    if (sample == nullptr) return array.Fault();
    if (IsFloat(array.element())) {
      array.CopyFloats(sample, words);
      if (!AllFinite({reinterpret_cast<const float*>(words), count})) return NotFinite(array, item);
    } else {
      for (std::size_t k = 0; k < count; ++k)
        words[k] = static_cast<std::int32_t>(array.Integer(sample, k));
    }
    words += count;
  }
  return {};
}

/// Where the files do not fit into half of the room that is there, most samples come from the disk.
void ArraySource::PlanReading(const ArrayFiles& files) {
  std::uint64_t bytes = 0;
  for (const auto* arrays : {&inputs_, &labels_})
    for (const auto& array : *arrays)
      for (const auto& mapping : array->mappings()) bytes += mapping.size();
  const std::uint64_t room = MemoryRoom();
  larger_than_memory_ = bytes > room / 2;
  if (files.shared ? bytes >= kSharedBytes : larger_than_memory_)
    blocks_ = BlocksFor(room / std::clamp<std::uint64_t>(files.learners, 1, kMostLearnersOfRoom));
  if (!larger_than_memory_) {
    blocks_.group = 0;
    return;
  }
  for (const auto* arrays : {&inputs_, &labels_})
    for (const auto& array : *arrays)
      for (const auto& mapping : array->mappings()) AdviseRandom(mapping);
}

/// The group is a power of two, so that a little more or less memory gives the same order.
ReadBlocks ArraySource::BlocksFor(std::uint64_t room) const {
  std::uint64_t largest = 1, bytes = 0;
  for (const auto* arrays : {&inputs_, &labels_})
    for (const auto& array : *arrays) {
      if (array->mappings().empty()) continue;
      largest = std::max<std::uint64_t>(largest, array->sample_bytes());
      bytes += array->sample_bytes();
    }
  const std::uint64_t items = std::max<std::uint64_t>(kBlockBytes / largest, 1);
  const std::uint64_t blocks = room / kGroupsInRoom / std::max<std::uint64_t>(items * bytes, 1);
  return {.items = items, .group = std::max(std::bit_floor(blocks), kLeastGroup)};
}

void ArraySource::BeginToRead(std::uint64_t first, std::uint64_t count) const {
  if (!larger_than_memory_) return;
  for (const auto* arrays : {&inputs_, &labels_})
    for (const auto& array : *arrays) {
      if (array->mappings().empty()) continue;
      for (std::uint64_t i = first; i < first + count;) {
        const std::uint64_t together = std::min(array->TogetherFrom(i), first + count - i);
        if (const std::byte* const sample = array->Sample(i); sample != nullptr)
          murmurate::BeginToRead({sample, together * array->sample_bytes()});
        i += together;
      }
    }
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
    for (const auto& array : *arrays)
      for (DataFile& file : array->files()) files.push_back(std::move(file));
  return files;
}

std::string ArraySource::ReadingNote() const {
  const std::string why = ": the files are larger than half of the memory that is available, so ";
  const std::string wait = " a disk that is slow may be waited for; perf/learner_wait says so";
  if (blocks_.items == 0) return why + "each sample is read from the disk by itself, and" + wait;
  return why + std::to_string(blocks_.items) + " samples that lie together are read at once, and " +
         std::to_string(blocks_.items * blocks_.group) +
         " samples of such blocks in a random order are shuffled at a time;" + wait;
}

std::vector<std::string> ArraySource::Notes() const {
  std::vector<std::string> notes;
  if (larger_than_memory_) notes.push_back(Description() + ReadingNote());
  for (const auto* arrays : {&inputs_, &labels_})
    for (const auto& array : *arrays)
      for (std::string& note : array->Notes()) notes.push_back(std::move(note));
  return notes;
}

std::string ArraySource::Description() const {
  return std::to_string(samples_) + " samples of " + inputs_.front()->name();
}

}  // namespace murmurate
