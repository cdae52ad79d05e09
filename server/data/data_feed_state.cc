// Saves where a feed is in its files, and goes on from there.
#include <algorithm>
#include <array>

#include "server/data/data_feed.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

enum StateField : std::size_t {
  kTrained,
  kSteps,
  kPassTurns,
  kBatchItems,
  kHeldOut,
  kSeed,
  kCount
};
using Position = std::array<std::uint64_t, kCount>;
constexpr std::size_t kWords = 3;  ///< of a file: bytes, items, fingerprint

enum BlocksField : std::size_t { kBlockItems, kGroup, kBlocksCount };
enum PartField : std::size_t { kIndex, kOf, kOfSeveral, kPartCount };

std::string Sizes(std::uint64_t bytes, std::uint64_t items) {
  return std::to_string(bytes) + " bytes and " + std::to_string(items) + " items";
}

Status Changed(const std::string& what, std::uint64_t saved, std::uint64_t now) {
  return InvalidArgument(what + ": the run was stopped with " + std::to_string(saved) +
                         " and cannot go on with " + std::to_string(now) +
                         ", because its place in the files would be another; take the change back");
}

}  // namespace

void DataFeed::Save(const StateWriter& writer) const {
  std::uint64_t trained = 0;
  {
    const std::lock_guard lock(mutex_);
    trained = trained_;
  }
  const std::uint64_t scored = trained % pass_turns_;
  if (scored > training_turns_) trained -= scored - training_turns_;
  writer.Words("position", {{trained, channel_->environment_steps.load(), pass_turns_, batch_items_,
                             held_out_items(), settings_.seed}});
  const FeedPart& part = settings_.part;
  writer.Words("part", {{part.index, part.of, part.of_several ? 1u : 0u}});
  writer.Words("blocks", {{order_->blocks().items, order_->blocks().group}});
  std::vector<std::uint64_t> words;
  for (const DataFile& file : source_->files())
    words.insert(words.end(), {file.bytes, file.items, file.fingerprint});
  writer.Words("files", words);
}

Status DataFeed::CheckFiles(const StateReader& reader) const {
  const auto words = reader.AllWords("files");
  if (!words.ok()) return words.status();
  const std::vector<DataFile> files = source_->files();
  for (std::size_t i = 0; i < files.size() && kWords * i + 2 < words->size(); ++i) {
    const std::uint64_t bytes = (*words)[kWords * i], items = (*words)[kWords * i + 1];
    if (files[i].bytes != bytes || files[i].items != items)
      return InvalidData(files[i].path + ": has " + Sizes(files[i].bytes, files[i].items) +
                         ", but had " + Sizes(bytes, items) +
                         " when the run was stopped; put the file back that it had");
    if (files[i].fingerprint != (*words)[kWords * i + 2])
      return InvalidData(files[i].path +
                         ": has the size, but not the contents that it had when the run was "
                         "stopped; put the file back that it had");
  }
  if (words->size() == kWords * files.size()) return {};
  return InvalidData(source_->Description() + ": lie in " + std::to_string(files.size()) +
                     " files, but the run was stopped with " +
                     std::to_string(words->size() / kWords) + "; put back those that it had");
}

/// A run from before files were divided saved no part, and read all of them.
Status DataFeed::CheckPart(const StateReader& reader) const {
  std::array<std::uint64_t, kPartCount> saved{};
  if (!reader.Words("part", saved).ok()) saved = {0, 1, 0};
  const FeedPart& part = settings_.part;
  if (saved[kOf] != part.of)
    return Changed(
        "run.learners (parameters.workers, ranks of mpirun) or data.divide, learners that divide "
        "the files",
        saved[kOf], part.of);
  if (saved[kIndex] != part.index)
    return Changed("parameters.worker, whose part of the files is read", saved[kIndex], part.index);
  if ((saved[kOfSeveral] != 0) != part.of_several)
    return InvalidArgument(
        "run.learners (parameters.workers): several learners hold out other items than one; take "
        "the change back");
  return {};
}

Status DataFeed::Load(const StateReader& reader) {
  Position saved{};
  MURMURATE_RETURN_IF_ERROR(reader.Words("position", saved));
  MURMURATE_RETURN_IF_ERROR(CheckFiles(reader));
  MURMURATE_RETURN_IF_ERROR(CheckPart(reader));
  std::array<std::uint64_t, kBlocksCount> blocks{};
  if (!reader.Words("blocks", blocks).ok()) blocks = {0, 0};  // of a run from before there were any
  Arrange({.items = std::min(blocks[kBlockItems], source_->items()), .group = blocks[kGroup]});
  if (saved[kBatchItems] != batch_items_)
    return Changed("algorithm.batch_steps, items of a batch", saved[kBatchItems], batch_items_);
  if (saved[kHeldOut] != held_out_items())
    return Changed("data.holdout, items held out", saved[kHeldOut], held_out_items());
  if (saved[kSeed] != settings_.seed)
    return InvalidArgument(
        "run.seed: the order of the files came of another; take the change back");
  if (saved[kTrained] >= turns_ || saved[kSteps] >= settings_.most_steps)
    return InvalidArgument(source_->Description() +
                           ": has nothing left to learn from; give the run more: --set "
                           "data.passes=NUMBER --set run.stop_at_steps=NUMBER");
  first_turn_ = next_turn_ = handed_over_ = trained_ = saved[kTrained];
  steps_ = saved[kSteps];
  channel_->environment_steps.store(steps_, std::memory_order_relaxed);
  return {};
}

bool DataFeed::IsThrough(const StateReader& reader, int passes) {
  Position saved{};
  return reader.Words("position", saved).ok() && saved[kPassTurns] > 0 &&
         saved[kTrained] / saved[kPassTurns] >= static_cast<std::uint64_t>(passes);
}

}  // namespace murmurate
