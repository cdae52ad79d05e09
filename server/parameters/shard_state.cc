#include "server/parameters/shard_state.h"

#include <algorithm>

#include "shared/core/check.h"

namespace murmurate {
namespace {

constexpr std::size_t kWordsOfAWorker = 6;
constexpr char kSection[] = "shard";

/// id, number, step, pulled, pushes, member of each worker.
Result<std::vector<std::uint64_t>> WorkersIn(const SavedState& state) {
  auto words = StateReader(state, kSection).AllWords("workers");
  if (!words.ok()) return words.status();
  if (words->size() % kWordsOfAWorker != 0)
    return InvalidData("shard.workers: expected six words for each worker");
  return std::vector<std::uint64_t>(words->begin(), words->end());
}

}  // namespace

void Shard::Save(SavedState* state) const {
  const State& s = *state_;
  const StateWriter writer(state, kSection);
  std::vector<std::uint64_t> workers;
  for (const auto& [id, worker] : s.workers) {
    for (const std::uint64_t word : {id, std::uint64_t{worker.number}, worker.step, worker.pulled,
                                     worker.pushes, std::uint64_t{worker.member}})
      workers.push_back(word);
    if (worker.statistics.size() > 0)
      writer.Floats("seen." + std::to_string(id), worker.statistics);
  }
  const std::uint64_t numbers[] = {s.version, s.begun ? 1u : 0u};
  writer.Words("workers", workers);
  writer.Words("version", numbers);
  writer.Floats("center", s.Trained());
  s.optimizer->Save(StateWriter(state, "optimizer"));
}

Status Shard::Load(const SavedState& state, const std::string& spec) {
  State& s = *state_;
  MURMURATE_RETURN_IF_ERROR(s.Build(spec));
  auto workers = WorkersIn(state);
  if (!workers.ok()) return workers.status();
  const StateReader reader(state, kSection);
  std::uint64_t numbers[2];
  MURMURATE_RETURN_IF_ERROR(reader.Words("version", numbers));
  MURMURATE_RETURN_IF_ERROR(reader.Floats("center", s.Renewed()));
  MURMURATE_RETURN_IF_ERROR(s.optimizer->Load(StateReader(state, "optimizer")));
  for (std::size_t i = 0; i < workers->size(); i += kWordsOfAWorker) {
    const std::uint64_t* const words = workers->data() + i;
    State::Worker& worker = s.workers[words[0]];
    worker.number = static_cast<std::uint32_t>(words[1]);
    worker.step = worker.kept = words[2];
    worker.pulled = words[3];
    worker.pushes = words[4];
    worker.member = words[5] != 0;
    worker.left = !worker.member;
    AlignedFloats seen(s.statistics);
    if (reader.Floats("seen." + std::to_string(words[0]), seen).ok())
      worker.statistics = std::move(seen);
  }
  s.version = s.first_version = numbers[0];
  // guard: ShardTest.ARunThatAllHadLeftWaitsForAllAgain: a barrier that all workers had left waits
  //   for all again
  s.begun = numbers[1] != 0 && s.Members() > 0;
  s.empty = false;
  s.loaded = true;
  s.old_statistics = s.statistics > 0;
  return {};
}

std::string Shard::Waits() const {
  const State& s = *state_;
  std::string who, whom;
  const auto add = [](std::string* to, std::uint32_t number) {
    *to += (to->empty() ? "" : ", ") + std::to_string(number);
  };
  const std::uint64_t slowest = s.Slowest();
  for (const auto& [id, worker] : s.workers)
    if (worker.awaits_beginning && worker.member) add(&who, worker.number);
  if (!who.empty()) return "worker " + who + " waits for the parameters of worker 0";
  for (const auto& [id, worker] : s.workers) {
    if (worker.pending || worker.held) {
      add(&who, worker.number);
    } else if (worker.member && !worker.waiting &&
               (IsSynchronous(s.settings.rule.name) || worker.pushes == slowest)) {
      add(&whom, worker.number);
    }
  }
  if (who.empty()) return "";
  const std::string for_whom = whom.empty() ? "those that have not joined yet" : "worker " + whom;
  if (IsSynchronous(s.settings.rule.name))
    return "worker " + who + " waits for " + for_whom + ": round " + std::to_string(s.version + 1) +
           " is not complete";
  return "worker " + who + " waits for " + for_whom +
         ": it is more than max_staleness = " + std::to_string(s.settings.max_staleness) +
         " pushes ahead";
}

void Shard::Kept(const SavedState& state) {
  const auto workers = WorkersIn(state);
  if (!workers.ok()) return;
  for (std::size_t i = 0; i < workers->size(); i += kWordsOfAWorker) {
    const auto found = state_->workers.find((*workers)[i]);
    if (found != state_->workers.end())
      found->second.kept = std::max(found->second.kept, (*workers)[i + 2]);
  }
}

}  // namespace murmurate
