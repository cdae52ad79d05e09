#include "shared/weights/network_subscriber.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace murmurate {

bool NetworkSubscriber::ReceiveNewer(const VersionStamp& known, WeightSink* into) {
  std::optional<WeightPiece> piece = NextPiece();
  if (!piece && taken_ && known.version == 0 && passing_.version == 0) {
    // guard: Weights.ReaderThatLostItsWeightsGetsThemAgain: a reader that lost its weights gets
    //   them again
    lost_.store(true, std::memory_order_relaxed);
  }
  bool whole = false;
  for (; piece; piece = NextPiece()) whole |= AddPiece(*piece, into);
  return whole;
}

std::optional<WeightPiece> NetworkSubscriber::NextPiece() {
  std::optional<WeightPiece> next;
  bool room = false;
  {
    // guard: Server.VersionsPassWholeFromTheThreadThatFetchesToTheThreadThatTakes (tsan): pieces
    //   pass from thread to thread under a mutex
    std::lock_guard lock(mutex_);
    if (!pieces_.empty()) {
      next = std::move(pieces_.front());
      pieces_.pop_front();
    }
    room = withheld_ && pieces_.size() <= kMostWaiting;
    if (room) withheld_ = false;
  }
  if (room) on_room_();
  return next;
}

bool NetworkSubscriber::MayAskForMore() {
  if (!on_room_) return true;
  std::lock_guard lock(mutex_);
  withheld_ = pieces_.size() > kMostWaiting;
  return !withheld_;
}

bool NetworkSubscriber::AddPiece(const WeightPiece& piece, WeightSink* into) {
  if (piece.first) {
    reader_.Begin(into);
    hash_.Begin();
    passing_ = piece.stamp;
  } else if (passing_ != piece.stamp) {
    return false;  // its beginning was void
  }
  const std::byte* from = piece.bytes.bytes().data();
  reader_.Consume(piece.bytes.bytes().size(), into, [&](std::byte* to, std::size_t bytes) {
    std::memcpy(to, from, bytes);
    hash_.Add({to, bytes});
    from += bytes;
  });
  if (!piece.last) return false;
  passing_ = {};
  const Result<ActSettings> act = reader_.act();
  // guard: Assembly.WrongHashIsRefusedAndTheNextTransferIsFine,
  //   Fetcher.DamagedPayloadIsNotDeliveredAndIsFetchedAgain,
  //   Assembly.PayloadWithAForeignPreambleIsRefusedDespiteItsHash: the hash of the whole payload
  //   and its preamble are checked
  if (!act.ok() || hash_.value() != piece.hash) {
    damaged_.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  taken_ = into->End(piece.stamp, *act);
  if (!taken_) lost_.store(true, std::memory_order_relaxed);
  return taken_;
}

void NetworkSubscriber::Deliver(WeightPiece piece) {
  {
    std::lock_guard lock(mutex_);
    const bool last = piece.last;
    pieces_.push_back(std::move(piece));
    if (last) {
      const auto first = std::find_if(pieces_.rbegin(), pieces_.rend(),
                                      [](const WeightPiece& held) { return held.first; });
      if (first != pieces_.rend()) pieces_.erase(pieces_.begin(), std::prev(first.base()));
    }
  }
  Wake();
}

void NetworkSubscriber::Close() {
  closed_.store(true, std::memory_order_release);
  Wake();
}

void NetworkSubscriber::Wake() {
  word_.fetch_add(1, std::memory_order_release);
  WakeAll(&word_);
}

}  // namespace murmurate
