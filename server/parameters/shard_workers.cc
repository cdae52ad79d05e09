#include "server/parameters/shard_workers.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

namespace murmurate {
namespace {

constexpr std::size_t kWordsOfAWorker = 6;

/// id, number, step, pulled, pushes, member of each worker.
Result<std::vector<std::uint64_t>> WorkersIn(const StateReader& reader) {
  auto words = reader.AllWords("workers");
  if (!words.ok()) return words.status();
  if (words->size() % kWordsOfAWorker != 0)
    return InvalidData("shard.workers: expected six words for each worker");
  return std::vector<std::uint64_t>(words->begin(), words->end());
}

}  // namespace

ShardWorker* ShardWorkers::Find(std::uint64_t id) {
  const auto found = workers_.find(id);
  return found == workers_.end() ? nullptr : &found->second;
}

const ShardWorker* ShardWorkers::Find(std::uint64_t id) const {
  const auto found = workers_.find(id);
  return found == workers_.end() ? nullptr : &found->second;
}

ShardWorker& ShardWorkers::Join(std::uint64_t id, const wire::Join& join, bool loaded,
                                std::int64_t now_ns) {
  const std::uint64_t slowest = Slowest();
  const auto [slot, is_new] = workers_.try_emplace(id);
  ShardWorker& worker = slot->second;
  // Started with nothing, this shard got a worker's parameters, which hold all that was pushed.
  if (is_new && !loaded && join.step > 0) worker.step = join.step - 1;
  if (!worker.member) {
    if (slowest != UINT64_MAX) worker.pushes = std::max(worker.pushes, slowest);
    log_(LogLevel::kInfo, "worker " + std::to_string(join.worker) + " joined");
  }
  worker.number = join.worker;
  worker.member = worker.came = true;
  worker.left = false;
  worker.waiting = false;
  worker.awaits_beginning = false;
  worker.trained = join.step > 0;
  worker.heard_ns = now_ns;
  if (!first_joined_ns_) first_joined_ns_ = now_ns;
  return worker;
}

void ShardWorkers::Leave(ShardWorker& worker, LogLevel level, const char* why) {
  if (!worker.member) return;
  worker.member = false;
  worker.held.reset();
  worker.pulled_center.reset();
  worker.awaits_beginning = false;
  log_(level, "worker " + std::to_string(worker.number) + ' ' + why + "; " +
                  std::to_string(members()) + " are left");
}

void ShardWorkers::LeaveSilent(std::int64_t now_ns) {
  for (auto& [id, worker] : workers_) {
    if (worker.heard_ns == 0) worker.heard_ns = now_ns;  // loaded: it has from now on to come back
    if (now_ns - worker.heard_ns >= settings_.dead_after_ns)
      Leave(worker, LogLevel::kWarning, "is silent");
  }
}

std::vector<std::uint64_t> ShardWorkers::Succeed(std::uint64_t successor, std::uint32_t number) {
  std::vector<std::uint64_t> dropped;
  for (auto& [id, other] : workers_) {
    if (id == successor || other.number != number) continue;
    // guard: BarrierRestart.AWorkerThatWasReplacedHoldsItsNumberNoMore: a shard that is started from
    //   its checkpoint does not wait for it
    Leave(other, LogLevel::kWarning, "is silent");
    other.left = true;
    other.elastic.reset();
    if (!other.pending) continue;
    other.step = std::exchange(other.pending, nullptr)->step;
    dropped.push_back(id);
  }
  return dropped;
}

void ShardWorkers::Forget() {
  workers_.clear();
  first_joined_ns_.reset();
}

int ShardWorkers::members() const {
  return static_cast<int>(std::count_if(workers_.begin(), workers_.end(),
                                        [](const auto& entry) { return entry.second.member; }));
}

bool ShardWorkers::AnyLive(std::int64_t now_ns) const {
  return std::any_of(workers_.begin(), workers_.end(),
                     [&](const auto& entry) { return IsLive(entry.second, now_ns); });
}

bool ShardWorkers::IsTaken(std::uint32_t number, std::uint64_t id, std::int64_t now_ns) const {
  return std::any_of(workers_.begin(), workers_.end(), [&](const auto& entry) {
    return entry.first != id && entry.second.number == number && IsLive(entry.second, now_ns);
  });
}

bool ShardWorkers::MayBegin(const ShardWorker& worker, std::int64_t now_ns) const {
  if (worker.number == 0 || worker.trained || settings_.workers <= 1) return true;
  if (SinceFirstJoin(now_ns) < settings_.dead_after_ns) return false;
  return std::none_of(workers_.begin(), workers_.end(), [&](const auto& entry) {
    return entry.second.number < worker.number && IsLive(entry.second, now_ns);
  });
}

int ShardWorkers::NeverCame() const {
  std::set<std::uint32_t> came;
  for (const auto& [id, worker] : workers_)
    if (worker.came) came.insert(worker.number);
  return std::max(0, settings_.workers - static_cast<int>(came.size()));
}

std::int64_t ShardWorkers::SinceFirstJoin(std::int64_t now_ns) const {
  return now_ns - first_joined_ns_.value_or(now_ns);
}

std::uint64_t ShardWorkers::Slowest() const {
  std::uint64_t slowest = UINT64_MAX;
  for (const auto& [id, worker] : workers_)
    if (worker.member && !worker.waiting) slowest = std::min(slowest, worker.pushes);
  return slowest;
}

void ShardWorkers::Save(const StateWriter& writer, std::size_t observations) const {
  std::vector<std::uint64_t> words;
  for (const auto& [id, worker] : workers_) {
    for (const std::uint64_t word : {id, std::uint64_t{worker.number}, worker.step, worker.pulled,
                                     worker.pushes, std::uint64_t{worker.member}})
      words.push_back(word);
    const std::span<const float> seen(worker.statistics);
    if (seen.empty()) continue;
    if (observations > 0) writer.Floats("seen." + std::to_string(id), seen.first(observations));
    if (seen.size() > observations)
      writer.Floats("returns." + std::to_string(id), seen.subspan(observations));
  }
  writer.Words("workers", words);
}

Status ShardWorkers::Load(const StateReader& reader, std::size_t observations,
                          std::size_t statistics) {
  const auto loaded = WorkersIn(reader);
  if (!loaded.ok()) return loaded.status();
  for (std::size_t i = 0; i < loaded->size(); i += kWordsOfAWorker) {
    const std::uint64_t* const words = loaded->data() + i;
    ShardWorker& worker = workers_[words[0]];
    worker.number = static_cast<std::uint32_t>(words[1]);
    worker.step = worker.kept = words[2];
    worker.pulled = words[3];
    worker.pushes = words[4];
    worker.member = words[5] != 0;
    worker.left = !worker.member;
    AlignedFloats seen(statistics);
    const std::string id = std::to_string(words[0]);
    const bool observed = reader.Floats("seen." + id, std::span(seen).first(observations)).ok();
    const bool returned =
        reader.Floats("returns." + id, std::span(seen).subspan(observations)).ok();
    if (observed || returned) worker.statistics = std::move(seen);
  }
  return {};
}

void ShardWorkers::Kept(const StateReader& reader) {
  const auto kept = WorkersIn(reader);
  if (!kept.ok()) return;
  for (std::size_t i = 0; i < kept->size(); i += kWordsOfAWorker)
    if (ShardWorker* const worker = Find((*kept)[i]))
      worker->kept = std::max(worker->kept, (*kept)[i + 2]);
}

}  // namespace murmurate
