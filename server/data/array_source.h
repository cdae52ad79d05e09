// ArraySource: samples of arrays (sample_array.h): x and y, each one array, or several with names.
//
//   array x                    input               array y                    action
//   floats  [n, ...]           box, its shape      floats  [n] or [n, ...]    box (regression)
//   uint8   [n, ...]           bytes, its shape    integers [n]               discrete(classes)
//                                                  integers [n, k]            k choices of classes
//
// float64 becomes float32 as it is copied, and Notes() says so.
//
// Where the files are larger than half of the memory that is available, blocks() asks for an order
// in which the disk is read in pieces of half a MiB, an eighth of that memory at a time. Learners
// that share the files must agree on the blocks, whatever memory each has, so for them the blocks
// are a matter of the files' size.
//
// A sample is a step that begins an episode: nothing is carried from one to the next. Integers of
// labels are checked once, when the files are opened; floats as they are copied.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "server/data/data_source.h"
#include "server/data/sample_array.h"

namespace murmurate {

struct NamedPath {
  std::string name;  ///< "": the only one
  std::string path;  ///< as array_opener.h has it
};

struct ArrayFiles {
  std::vector<NamedPath> observations, labels;
  int classes = 0;             ///< of labels that are integers; 0: the largest of each + 1
  bool shared = false;         ///< by several learners
  std::uint64_t learners = 1;  ///< that read a part each, and may be on one machine
};

class ArraySource : public DataSource {
 public:
  /// One sentence for whatever does not fit: dtype, shape, numbers of samples, labels out of range.
  static Result<std::unique_ptr<ArraySource>> Open(const ArrayFiles& files);

  const Spaces& spaces() const override { return spaces_; }
  std::uint64_t items() const override { return samples_; }
  std::uint64_t steps() const override { return samples_; }
  Status PrepareFor(const ModelSpec& model, int length) override;
  std::uint64_t ItemsOf(const TrainingBatch& batch) const override;
  Status Fill(std::span<const std::uint64_t> items, TrainingBatch* batch) const override;
  ReadBlocks blocks() const override { return blocks_; }
  void BeginToRead(std::uint64_t first, std::uint64_t count) const override;
  std::vector<DataFile> files() const override;
  std::string Description() const override;
  std::vector<std::string> Notes() const override;

 private:
  ArraySource() = default;
  Status OpenInputs(const std::vector<NamedPath>& paths);
  Status OpenLabels(const std::vector<NamedPath>& paths, int classes);
  Status CheckSamples() const;
  Status CheckShards(const SampleArray& array) const;
  Status PutObservation(std::uint64_t item, const ObservationLayout& layout, std::byte* row) const;
  Status PutLabel(std::uint64_t item, std::int32_t* words) const;

  void PlanReading(const ArrayFiles& files);
  ReadBlocks BlocksFor(std::uint64_t room) const;
  std::string ReadingNote() const;

  Spaces spaces_;
  bool larger_than_memory_ = false;
  ReadBlocks blocks_;
  std::uint64_t samples_ = 0;
  std::vector<std::unique_ptr<SampleArray>> inputs_, labels_;  ///< in the order of the leaves
};

}  // namespace murmurate
