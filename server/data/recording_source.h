// RecordingSource: recorded trajectories of one model, from a folder of segment files.
//
// Every record is read once when the folder is opened: its hash, its sizes, the meaning of its
// columns. What a killed process left half written, and what has rotted, is skipped and counted;
// what follows a record whose length makes no sense cannot be found again and is given up with it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/data/data_source.h"
#include "server/data/mapped_file.h"
#include "shared/core/aligned_floats.h"
#include "shared/inference/action_head.h"
#include "shared/model/model_spec.h"

namespace murmurate {

class RecordingSource : public DataSource {
 public:
  /// `model`: "" when the folder holds one alone. kInvalidArgument: there is no recording;
  /// kInvalidData: nothing in it can be read, or its segments are of different models.
  static Result<std::unique_ptr<RecordingSource>> Open(const std::string& folder,
                                                       const std::string& model = "");

  const Spaces& spaces() const override { return spec_.spaces; }
  std::uint64_t items() const override { return records_.size(); }
  std::uint64_t steps() const override { return steps_; }
  /// Suits any model of the same spaces with a T not shorter. Samples in other units (a box scaled
  /// for one of the two models alone) are converted; those of another kind (squashed, or of a
  /// deterministic policy, for one of the two alone) are what the game got, as the model that learns
  /// records it. A recurrent state that another model recorded means nothing and becomes zeros; rows
  /// before the first that were not recorded, too.
  Status PrepareFor(const ModelSpec& model, int length) override;
  std::uint64_t ItemsOf(const TrainingBatch& batch) const override;
  Status Fill(std::span<const std::uint64_t> items, TrainingBatch* batch) const override;
  std::vector<DataFile> files() const override { return segments_; }
  std::string Description() const override;
  std::string Returns() const override;
  std::vector<std::string> Notes() const override;

  int length() const override { return length_; }  ///< T
  const ModelSpec& spec() const { return spec_; }
  std::uint64_t skipped() const { return skipped_; }  ///< records that were not whole

 private:
  struct Record {
    const std::byte* at;
    std::size_t bytes;
  };
  /// Units say how one word of an action is recorded, and how the model that learns has it.
  struct Units {
    int word;
    ActionScale recorded, learned;
  };
  /// The heads of models whose samples are of two kinds.
  struct Kinds {
    ActionHead recorded, learned;
  };
  explicit RecordingSource(std::string folder) : folder_(std::move(folder)) {}
  Status AddSegment(const std::string& path);
  void CountReturns(const TrajectoryView& view);
  void CompareUnits(const ActionLayout& learned);
  void Convert(TrainingBatch* batch) const;

  const std::string folder_;
  ModelSpec spec_;
  int length_ = 0;
  std::uint64_t steps_ = 0, skipped_ = 0;
  std::vector<MappedFile> files_;
  std::vector<DataFile> segments_;  ///< of files_
  std::vector<Record> records_;
  bool same_state_ = true;
  std::vector<Units> units_;    ///< that differ, of samples of one kind
  std::optional<Kinds> kinds_;  ///< nothing: they are of one kind
  std::uint64_t episodes_ = 0;  ///< that ended in training
  double returns_ = 0.0;        ///< their sum
  AlignedFloats zeros_;         ///< a state, and rows before the first
};

}  // namespace murmurate
