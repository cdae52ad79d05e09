#include "server/parameters/answer_wait.h"

#include <algorithm>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "shared/core/clock.h"

namespace murmurate {
namespace {

constexpr std::int64_t kSaySilenceNs = 1'000'000'000;
constexpr std::int64_t kLookNs = 200'000;
constexpr int kLooksBetweenYields = 200;
constexpr int kRestMs = 20;

/// Polls for answers, because to sleep and be woken takes longer than the exchange of a megabyte.
/// Other threads get this core between two polls.
void Look(std::span<const ShardPiece> pieces, std::int64_t begin_ns) {
  const auto waits = [](const ShardPiece& piece) {
    return piece.link->WaitForAnswer().has_value();
  };
  if (!std::all_of(pieces.begin(), pieces.end(), waits)) return;
  const auto is_there = [](const ShardPiece& piece) { return piece.link->channel().IsAnswered(); };
  while (MonotonicNs() - begin_ns < kLookNs) {
    for (int look = 0; look < kLooksBetweenYields; ++look)
      if (std::all_of(pieces.begin(), pieces.end(), is_there)) return;
    std::this_thread::yield();
  }
}

}  // namespace

void AnswerWait::SaySilence(std::span<ShardPiece> pieces, std::int64_t now_ns) {
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const ShardLink& link = *pieces[i].link;
    if (link.answered() || now_ns - link.silent_since_ns() < kSaySilenceNs) continue;
    if (std::exchange(said_silent_, true)) return;
    const std::string which =
        "learning waits for shard " + std::to_string(i) + " (" + link.options().address + "), ";
    const ShardWait wait{
        which + (link.heard() ? "which does not answer, or for the workers that it waits for"
                              : "which has never answered; start it with `murmurate params CONFIG "
                                "--shard " +
                                    std::to_string(i) + "`"),
        !link.heard()};
    if (callbacks_.log) callbacks_.log(LogLevel::kWarning, wait.sentence);
    if (callbacks_.waits) callbacks_.waits(wait);
    return;
  }
}

/// True: every shard has answered.
bool AnswerWait::PollLinks(std::span<ShardPiece> pieces, const Fill& fill) {
  const std::int64_t now_ns = MonotonicNs();
  bool all = true;
  for (ShardPiece& piece : pieces) {
    if (piece.link->answered()) continue;
    piece.link->Poll(now_ns);
    if (!piece.link->refusal().ok()) {
      Fail(piece.link->refusal());
      return false;
    }
    if (piece.link->wants_parameters()) piece.link->Replenish(fill(piece), now_ns);
    all = all && piece.link->answered();
  }
  return all;
}

void AnswerWait::Rest(std::span<ShardPiece> pieces) {
  std::vector<FutexWait> waits = {{&interrupted_, 0}};
  std::vector<Socket*> sockets;
  for (ShardPiece& piece : pieces) {
    if (piece.link->answered()) continue;
    sockets.push_back(piece.link->channel().socket());
    if (const auto wait = piece.link->WaitForAnswer()) waits.push_back(*wait);
  }
  if (waits.size() == sockets.size() + 1)
    return WaitForAny(waits, kRestMs);  // what comes in messages, an error perhaps, is not urgent
  Poller poller(&signal_);
  (void)poller.Wait(sockets, kRestMs);
}

bool AnswerWait::Wait(std::span<ShardPiece> pieces, const Fill& fill) {
  const std::int64_t begin_ns = MonotonicNs();
  if (looks_help_) Look(pieces, begin_ns);
  while (!PollLinks(pieces, fill)) {
    const std::int64_t now_ns = MonotonicNs();
    if (failed_ || interrupted() || now_ns >= deadline_ns_) {
      waited_s_ += static_cast<double>(now_ns - begin_ns) * 1e-9;
      return false;
    }
    SaySilence(pieces, now_ns);
    Rest(pieces);
  }
  if (std::exchange(said_silent_, false)) {
    if (callbacks_.log) callbacks_.log(LogLevel::kInfo, "the shards answer");
    if (callbacks_.waits) callbacks_.waits(std::nullopt);
  }
  const std::int64_t wait_ns = MonotonicNs() - begin_ns;
  looks_help_ = wait_ns < kLookNs;
  waited_s_ += static_cast<double>(wait_ns) * 1e-9;
  return true;
}

void AnswerWait::Fail(const Status& refusal) {
  if (!failed_ && callbacks_.failed) callbacks_.failed(refusal);
  failed_ = true;
}

void AnswerWait::Interrupt() {
  interrupted_ = 1;
  WakeAll(&interrupted_);
  signal_.Set();
}

}  // namespace murmurate
