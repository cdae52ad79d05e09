#include "server/parameters/retained_pushes.h"

#include <algorithm>
#include <utility>

#include "shared/trajectory/finite.h"

namespace murmurate {

bool RetainedPushes::MayKeep(std::uint64_t step) const {
  const std::uint64_t fit = most_bytes_ / std::max<std::size_t>(1, floats_ * sizeof(float));
  return step > in_checkpoint_ && step - in_checkpoint_ <= 2 * fit;
}

void RetainedPushes::Keep(const SentPush& request) {
  if (!MayKeep(request.push.step)) return;
  kept_ = request.block;
  if (kept_->slot() == 0) return;
  auto copy = pool_.Acquire();
  const std::span<const float> from = kept_->floats();
  (void)CopyFinite(copy->floats().data(), from, CopyKind::kPastCache);
  kept_ = std::move(copy);
}

void RetainedPushes::Retain(const wire::Push& push, std::uint64_t in_checkpoint) {
  auto kept = std::exchange(kept_, nullptr);
  if (push.step != 0 && !MayKeep(push.step)) retained_.clear();
  if (push.step <= in_checkpoint || !kept) return;
  retained_.push_back({push, std::move(kept)});
  while (retained_.size() * floats_ * sizeof(float) > most_bytes_) retained_.pop_front();
}

void RetainedPushes::DropUpTo(std::uint64_t step) {
  in_checkpoint_ = std::max(in_checkpoint_, step);
  while (!retained_.empty() && retained_.front().push.step <= step) retained_.pop_front();
}

void RetainedPushes::Clear() {
  retained_.clear();
  again_ = 0;
}

const SentPush* RetainedPushes::SendAfter(std::uint64_t step) {
  const auto next = std::find_if(retained_.begin(), retained_.end(),
                                 [&](const SentPush& sent) { return sent.push.step > step; });
  const bool found = next != retained_.end();
  again_ = found ? next->push.step : 0;
  return found ? &*next : nullptr;
}

}  // namespace murmurate
