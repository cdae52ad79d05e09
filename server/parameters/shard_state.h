// The state of a Shard: its center, its workers, and what becomes of their pushes.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/parameters/seen_statistics.h"
#include "server/parameters/shard.h"
#include "server/parameters/shard_center.h"
#include "server/parameters/shard_workers.h"

namespace murmurate {

struct Shard::State {
  State(const ShardSettings& given, int given_index, int given_of, LogCallback given_log)
      : settings(given),
        index(given_index),
        of(given_of),
        log(std::move(given_log)),
        workers(settings, log) {}

  Status Build(const std::string& text);
  Status CheckJoin(const wire::Join& join, std::int64_t now_ns) const;
  bool MayBeReplaced(std::int64_t now_ns) const;
  void Forget();
  Status Accept(std::uint64_t id, const wire::Push& push, std::span<const float> block,
                std::int64_t now_ns);
  Status NotFinite(const wire::Push& push) const;
  /// False: not finite; it is as empty as before.
  bool Begin(std::uint64_t id, std::span<const float> parameters);
  Status MergeNow(ShardWorker& worker, const wire::Push& push, std::span<const float> contribution);
  Status Await(std::uint64_t id, const wire::Push& push, std::span<const float> contribution,
               std::int64_t now_ns);
  void TryRound(std::int64_t now_ns);
  void MergeArrivals(std::size_t needed);
  void Hold(ShardWorker& worker, const wire::Center& answer);
  void Release();
  void AnswerAgain(std::uint64_t id, const wire::Push& push);
  /// Answers with the center, or with the elastic difference where the rule says so.
  void Respond(std::uint64_t id, const wire::Center& answer);
  void RespondCenter(std::uint64_t id, const wire::Center& answer);
  void RespondElastic(std::uint64_t id, const wire::Center& answer);
  void Send(std::uint64_t id, wire::Center answer, std::shared_ptr<const Block> block);

  const ShardSettings settings;
  const int index, of;
  const LogCallback log;
  std::string spec_text;
  std::unique_ptr<ShardCenter> center;  ///< null: no worker has said which model
  std::optional<SeenStatistics> seen;   ///< of the same time
  ShardWorkers workers;
  bool empty = true, begun = false, loaded = false;
  std::uint64_t version = 0, first_version = 0;  ///< now; when this shard was started
  std::uint64_t pushes = 0, merged = 0;          ///< in this life
  std::vector<std::uint64_t> arrivals;           ///< workers whose push is pending, in order
  std::vector<Answer> answers;
};

}  // namespace murmurate
