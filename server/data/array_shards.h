// ArrayShards: the arrays of several files, in the order of their names, as one array.
//
// The names are sorted as text, so numbers in them have leading zeros: x-02.npy, x-10.npy. All have
// the same element type and sample shape.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "server/data/sample_array.h"

namespace murmurate {

/// True for a path with a *, ? or [.
bool IsPattern(const std::string& path);

class ArrayShards : public SampleArray {
 public:
  using OpenOne = std::function<Result<std::unique_ptr<SampleArray>>(const std::string& path)>;

  /// `part`: of each file (array_opener.h). kInvalidArgument: no file matches; kInvalidData names
  /// the first file that differs from the one before it.
  static Result<std::unique_ptr<SampleArray>> Open(const std::string& pattern,
                                                   const std::string& part,
                                                   const OpenOne& open_one);

  const std::byte* Sample(std::uint64_t i) const override {
    const std::size_t shard = ShardOf(i);
    return shards_[shard]->Sample(i - first_[shard]);
  }
  std::uint64_t TogetherFrom(std::uint64_t i) const override {
    const std::size_t shard = ShardOf(i);
    return shards_[shard]->TogetherFrom(i - first_[shard]);
  }
  Status Fault() const override;
  std::vector<DataFile> files() const override;
  std::vector<std::span<const std::byte>> mappings() const override;
  std::vector<std::string> Notes() const override;

 private:
  explicit ArrayShards(std::string name) : SampleArray(std::move(name)) {}
  Status Add(std::unique_ptr<SampleArray> shard);
  std::size_t ShardOf(std::uint64_t i) const;

  std::vector<std::unique_ptr<SampleArray>> shards_;
  std::vector<std::uint64_t> first_;  ///< the number of each shard's first sample
};

}  // namespace murmurate
