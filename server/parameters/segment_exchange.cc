#include "server/parameters/segment_exchange.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace murmurate {

SegmentExchange::SegmentExchange(LogCallback log) : log_(std::move(log)) {
  auto wakeup = WakeupReceiver::Open(number_);
  if (wakeup.ok()) wakeup_ = *std::move(wakeup);
  if (!wakeup.ok() && log_)
    log_(LogLevel::kWarning, wakeup.status().message() + "; blocks will come in messages");
}

std::string SegmentExchange::Join(std::uint64_t worker, const wire::Join& join, Shard* shard) {
  const auto before = peers_.find(worker);
  Peer peer = before != peers_.end() ? before->second : Peer{};
  peers_.erase(worker);
  if (!wakeup_ || join.segment.empty() || join.host != HostIdentity()) return "";
  if (!peer.segment || peer.segment->name() != join.segment) {
    auto segment =
        ShardSegment::Open(join.segment, shard->block_floats(), ShardSegment::Access::kReadWrite);
    if (!segment.ok()) return Without(segment.status());
    // guard: Talk.WhatLiesInASegmentThatIsMappedOnlyNowIsPassedOver: what lies in a segment when it
    //   is mapped is passed over
    peer = {.segment = *segment, .answers = nullptr, .seen = (*segment)->turn()};
  }
  auto answers = shard->ShareAnswers(number_);
  if (!answers.ok()) return Without(answers.status());
  peer.answers = *std::move(answers);
  return peers_.emplace(worker, std::move(peer)).first->second.answers->name();
}

std::string SegmentExchange::Without(const Status& why) const {
  if (log_) log_(LogLevel::kWarning, why.message() + "; the worker's blocks will come in messages");
  return "";
}

void SegmentExchange::LetGoOfTheDead() {
  std::erase_if(peers_, [](const auto& entry) { return !entry.second.segment->OwnerIsAlive(); });
}

bool SegmentExchange::IsNewest(std::uint64_t worker, const wire::Push& push) {
  const auto found = peers_.find(worker);
  if (found == peers_.end()) return true;
  Peer& peer = found->second;
  // guard: Talk.APushThatComesLateIsPassedOver: a push whose turn is not higher than all before is
  //   passed over
  if (push.turn != 0 && push.turn <= peer.seen) return false;
  peer.seen = std::max(peer.seen, push.turn);
  peer.waits = push.turn;
  if (push.turn != 0) peer.read.reset();
  return true;
}

int SegmentExchange::ReceivePushes(const PushCallback& on_push) {
  std::vector<std::pair<std::uint64_t, PushInSlot>> pushes;
  for (const auto& [worker, peer] : peers_)
    if (auto push = peer.segment->Pushed(peer.seen)) pushes.emplace_back(worker, *push);
  for (const auto& [worker, placed] : pushes) {
    const auto peer = peers_.find(worker);
    if (peer == peers_.end() || !IsNewest(worker, placed.push)) continue;
    ShardSegment& segment = *peer->second.segment;
    const bool good = placed.slot >= 1 && placed.slot <= segment.slots();
    on_push(worker, placed.push, good ? segment.slot(placed.slot) : std::span<const float>());
  }
  return static_cast<int>(pushes.size());
}

SegmentExchange::Delivery SegmentExchange::Answer(const Shard::Answer& answer) {
  const auto found = peers_.find(answer.worker);
  if (found == peers_.end()) return Delivery::kMessage;
  Peer& peer = found->second;
  const std::uint64_t turn = std::exchange(peer.waits, 0);
  if (turn == 0) return Delivery::kMessageWithoutBlock;
  if (answer.block->slot() == 0) {
    peer.segment->Answer({answer.center, 0}, turn);
    return Delivery::kMessage;
  }
  // guard: Talk.WhatAWorkerReadsIsNotWrittenUntilItsNextPush: a worker's answer keeps its slot
  //   until that worker's next push
  peer.read = answer.block;
  peer.segment->Answer({answer.center, answer.block->slot()}, turn);
  return Delivery::kPlaced;
}

bool SegmentExchange::IsNew() const {
  return std::any_of(peers_.begin(), peers_.end(), [](const auto& entry) {
    return entry.second.segment->turn() > entry.second.seen;
  });
}

void SegmentExchange::SetSleeps(bool sleeps) {
  const ShardSegment* last = nullptr;
  for (const auto& [worker, peer] : peers_) {
    if (peer.answers.get() != last) peer.answers->SetSleeps(sleeps);
    last = peer.answers.get();
  }
}

bool SegmentExchange::GoesToSleep() {
  SetSleeps(true);
  return !IsNew();
}

}  // namespace murmurate
