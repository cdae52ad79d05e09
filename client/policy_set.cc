#include "client/policy_set.h"

#include <algorithm>
#include <utility>

#include "client/platform.h"
#include "shared/core/check.h"

namespace murmurate {

void PolicyPins::Add(PolicyPin* pin) {
  std::lock_guard lock(mutex_);
  pins_.push_back(pin);
}

void PolicyPins::Remove(PolicyPin* pin) {
  std::lock_guard lock(mutex_);
  std::erase(pins_, pin);
}

void PolicyPins::WaitUntilFree(const PolicyBuffer* buffer) const {
  std::lock_guard lock(mutex_);
  for (const PolicyPin* pin : pins_) {
    while (pin->pinned.load(std::memory_order_seq_cst) == buffer) Nap(20);
  }
}

bool PolicyPins::IsPlayed(const PolicyBuffer* buffer) const {
  std::lock_guard lock(mutex_);
  return std::any_of(pins_.begin(), pins_.end(), [buffer](const PolicyPin* pin) {
    return pin->playing.load(std::memory_order_relaxed) == buffer;
  });
}

PolicySet::PolicySet(const ModelSpec& spec, std::shared_ptr<PolicyPins> pins, bool deterministic)
    : spec_(spec), deterministic_(deterministic), layout_(spec), pins_(std::move(pins)) {
  buffers_[0] = NewBuffer();
}

std::unique_ptr<PolicyBuffer> PolicySet::NewBuffer() const {
  const KernelSet set = deterministic_ ? KernelSet::kPlain : BestKernelSet();
  return std::make_unique<PolicyBuffer>(spec_, set);
}

PolicyBuffer* PolicySet::ChooseBuffer() {
  const PolicyBuffer* latest = latest_.load(std::memory_order_relaxed);
  PolicyBuffer* oldest = nullptr;
  PolicyBuffer* oldest_unplayed = nullptr;
  for (auto& buffer : buffers_) {
    if (buffer == nullptr) {
      buffer = NewBuffer();
      return buffer.get();
    }
    // guard: PolicySet.AWriterWaitsForWhoeverIsInsideAct, AgentCore.OnlyALostBufferCutsATrajectory:
    //   the latest buffer is never written
    if (buffer.get() == latest) continue;
    if (buffer->order == 0) return buffer.get();  // nothing was ever published in it
    if (oldest == nullptr || buffer->order < oldest->order) oldest = buffer.get();
    // guard: PolicySet.APolicyNobodyPlaysGivesWayBeforeAnOlderOneThatIsPlayed: buffers that no
    //   agent plays are reused first
    if (pins_->IsPlayed(buffer.get())) continue;
    if (oldest_unplayed == nullptr || buffer->order < oldest_unplayed->order) {
      oldest_unplayed = buffer.get();
    }
  }
  return oldest_unplayed != nullptr ? oldest_unplayed : oldest;
}

void PolicySet::Begin() {
  // guard: PolicySet.AVersionThatNeverBecameWholeIsPlayedByNobodyAndTheNextBeginsInItsPlace: a
  //   version is played only when all of it has come
  if (begun_ != nullptr) return;  // the last one never became whole
  begun_ = ChooseBuffer();
  // guard: PolicySet.HasNothingUntilTheFirstVersion (hangs): the generation is odd while a buffer
  //   is packed
  begun_->generation.fetch_add(1, std::memory_order_seq_cst);
  // guard: PolicySet.AWriterWaitsForWhoeverIsInsideAct,
  //   PolicySet.UnderHammeringEveryPassIsOfOneWholeVersion: the writer waits until no agent pins
  //   the buffer
  pins_->WaitUntilFree(begun_);
}

void PolicySet::Put(std::size_t first, std::span<const float> numbers) {
  if (begun_ != nullptr) begun_->policy.PackPart(first, numbers);
}

void PolicySet::Publish(const VersionStamp& stamp, const ActSettings& act) {
  PolicyBuffer* const buffer = std::exchange(begun_, nullptr);
  MURMURATE_CHECK(buffer != nullptr, "a version that was begun");
  buffer->stamp = stamp;
  buffer->act = act;
  buffer->order = ++packed_;
  buffer->generation.fetch_add(1, std::memory_order_seq_cst);
  latest_.store(buffer, std::memory_order_seq_cst);
  version_.store(stamp.incarnation == 0 ? 0 : stamp.version, std::memory_order_release);
  std::lock_guard lock(stamp_mutex_);
  stamp_ = stamp;
}

void PolicySet::Publish(const VersionStamp& stamp, const ActSettings& act,
                        std::span<const float> policy, std::span<const float> statistics) {
  Begin();
  begun_->policy.Pack(policy, statistics);
  Publish(stamp, act);
}

bool PolicySet::PinLatest(PolicyPin* pin, PolicyHold* hold) const {
  for (;;) {
    hold->buffer = latest_.load(std::memory_order_seq_cst);
    if (hold->buffer == nullptr) return false;
    hold->generation = hold->buffer->generation.load(std::memory_order_acquire);
    // guard: PolicySet.ABufferThatIsBeingWrittenIsNotTakenForTheLatest: a buffer that is being
    //   written is not used as the latest
    // Odd: it stopped being the latest since we read that; there is another one by now.
    if ((hold->generation & 1) == 0 && Pin(pin, *hold)) return true;
  }
}

VersionStamp PolicySet::stamp() const {
  std::lock_guard lock(stamp_mutex_);
  return stamp_;
}

AlignedFloats PolicySet::Parameters(VersionStamp* stamp) const {
  AlignedFloats all(layout_.total);
  const std::span<float> flat = all;
  PolicyPin pin;
  PolicyHold hold;
  pins_->Add(&pin);
  if (PinLatest(&pin, &hold)) {
    *stamp = hold.buffer->stamp;
    hold.buffer->policy.Unpack(flat.subspan(layout_.published.offset, layout_.published.count),
                               flat.subspan(layout_.statistics.offset, layout_.statistics.count));
    Unpin(&pin);
  }
  pins_->Remove(&pin);
  return all;
}

}  // namespace murmurate
