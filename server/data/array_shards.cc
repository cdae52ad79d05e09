#include "server/data/array_shards.h"

#include <glob.h>

#include <algorithm>
#include <utility>

#include "shared/core/check.h"

namespace murmurate {
namespace {

/// Sorted, byte by byte.
std::vector<std::string> Matches(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> paths;
  if (glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found) == 0)
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  std::ranges::sort(paths);
  return paths;
}

std::vector<std::uint64_t> ShapeOf(const SampleArray& array, std::uint64_t samples) {
  std::vector<std::uint64_t> shape{samples};
  for (const int size : array.sample_shape()) shape.push_back(static_cast<std::uint64_t>(size));
  return shape;
}

}  // namespace

bool IsPattern(const std::string& path) { return path.find_first_of("*?[") != std::string::npos; }

Result<std::unique_ptr<SampleArray>> ArrayShards::Open(const std::string& pattern,
                                                       const std::string& part,
                                                       const OpenOne& open_one) {
  const std::string behind = part.empty() ? "" : ':' + part;
  const std::vector<std::string> paths = Matches(pattern);
  if (paths.empty())
    return InvalidArgument(pattern +
                           ": no file has a name like this; correct the pattern (* stands for any "
                           "letters), relative to the config's folder");
  std::unique_ptr<ArrayShards> array(new ArrayShards(pattern + behind));
  std::uint64_t samples = 0;
  for (const std::string& path : paths) {
    auto shard = open_one(path + behind);
    if (!shard.ok()) return shard.status();
    array->first_.push_back(samples);
    samples += (*shard)->samples();
    MURMURATE_RETURN_IF_ERROR(array->Add(*std::move(shard)));
  }
  const SampleArray& first = *array->shards_.front();
  array->SetElement(first.element());
  MURMURATE_RETURN_IF_ERROR(array->SetShape(ShapeOf(first, samples)));
  return Result<std::unique_ptr<SampleArray>>(std::move(array));
}

Status ArrayShards::Add(std::unique_ptr<SampleArray> shard) {
  if (!shards_.empty()) {
    const SampleArray& before = *shards_.back();
    const auto now = ShapeOf(*shard, shard->samples()), then = ShapeOf(before, shard->samples());
    if (shard->element() != before.element() || now != then)
      return InvalidData(shard->name() + ": holds " + NameOf(shard->element()) + ' ' +
                         InWords(now) + " where " + before.name() + " before it holds " +
                         NameOf(before.element()) + ' ' +
                         InWords(ShapeOf(before, before.samples())) +
                         "; files of one pattern have one type and, but for the number of samples, "
                         "one shape");
  }
  shards_.push_back(std::move(shard));
  return {};
}

std::size_t ArrayShards::ShardOf(std::uint64_t i) const {
  const auto behind = std::upper_bound(first_.begin(), first_.end(), i);
  return static_cast<std::size_t>(behind - first_.begin()) - 1;
}

Status ArrayShards::Fault() const {
  for (const auto& shard : shards_)
    if (Status fault = shard->Fault(); !fault.ok()) return fault;
  return {};
}

std::vector<DataFile> ArrayShards::files() const {
  std::vector<DataFile> files;
  for (const auto& shard : shards_)
    for (DataFile& file : shard->files()) files.push_back(std::move(file));
  return files;
}

std::vector<std::span<const std::byte>> ArrayShards::mappings() const {
  std::vector<std::span<const std::byte>> mappings;
  for (const auto& shard : shards_)
    for (const auto& one : shard->mappings()) mappings.push_back(one);
  return mappings;
}

std::vector<std::string> ArrayShards::Notes() const {
  std::vector<std::string> notes = SampleArray::Notes();
  for (std::string& note : shards_.front()->Notes())
    if (element() != SampleElement::kFloat64) notes.push_back(std::move(note));
  return notes;
}

}  // namespace murmurate
