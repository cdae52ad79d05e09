#include "client/policy_set.h"

#include <algorithm>

#include "client/platform.h"

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
    : spec_(spec),
      deterministic_(deterministic),
      layout_(spec),
      pins_(std::move(pins)),
      kept_(layout_.total) {
  const KernelSet set = deterministic ? KernelSet::kPlain : BestKernelSet();
  for (auto& buffer : buffers_) buffer = std::make_unique<PolicyBuffer>(spec, set);
}

PolicyBuffer* PolicySet::ChooseBuffer() {
  const PolicyBuffer* latest = latest_.load(std::memory_order_relaxed);
  PolicyBuffer* oldest = nullptr;
  PolicyBuffer* oldest_unplayed = nullptr;
  for (const auto& buffer : buffers_) {
    if (buffer.get() == latest) continue;
    if (oldest == nullptr || buffer->order < oldest->order) oldest = buffer.get();
    if (pins_->IsPlayed(buffer.get())) continue;
    if (oldest_unplayed == nullptr || buffer->order < oldest_unplayed->order) {
      oldest_unplayed = buffer.get();
    }
  }
  return oldest_unplayed != nullptr ? oldest_unplayed : oldest;
}

void PolicySet::Keep(const VersionStamp& stamp, std::span<const float> policy,
                     std::span<const float> statistics) {
  std::lock_guard lock(kept_mutex_);
  std::copy(policy.begin(), policy.end(), kept_.begin() + layout_.policy.offset);
  std::copy(statistics.begin(), statistics.end(), kept_.begin() + layout_.statistics.offset);
  kept_stamp_ = stamp;
}

void PolicySet::Publish(const VersionStamp& stamp, const ActSettings& act,
                        std::span<const float> policy, std::span<const float> statistics) {
  PolicyBuffer* buffer = ChooseBuffer();
  buffer->generation.fetch_add(1, std::memory_order_seq_cst);
  pins_->WaitUntilFree(buffer);
  buffer->policy.Pack(policy, statistics);
  buffer->stamp = stamp;
  buffer->act = act;
  buffer->order = ++packed_;
  buffer->generation.fetch_add(1, std::memory_order_seq_cst);
  latest_.store(buffer, std::memory_order_seq_cst);
  version_.store(stamp.incarnation == 0 ? 0 : stamp.version, std::memory_order_release);
  Keep(stamp, policy, statistics);
}

bool PolicySet::PinLatest(PolicyPin* pin, PolicyHold* hold) const {
  for (;;) {
    hold->buffer = latest_.load(std::memory_order_seq_cst);
    if (hold->buffer == nullptr) return false;
    hold->generation = hold->buffer->generation.load(std::memory_order_acquire);
    // Odd: it stopped being the latest since we read that; there is another one by now.
    if ((hold->generation & 1) == 0 && Pin(pin, *hold)) return true;
  }
}

VersionStamp PolicySet::stamp() const {
  std::lock_guard lock(kept_mutex_);
  return kept_stamp_;
}

AlignedFloats PolicySet::Parameters(VersionStamp* stamp) const {
  std::lock_guard lock(kept_mutex_);
  AlignedFloats copy(kept_.size());
  std::copy(kept_.begin(), kept_.end(), copy.begin());
  *stamp = kept_stamp_;
  return copy;
}

}  // namespace murmurate
