#include "shared/weights/weight_transfers.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "shared/core/clock.h"

namespace murmurate {
namespace {

constexpr std::size_t kMaxOlderVersions = 3;
constexpr std::uint32_t kMaxCredit = 64;
constexpr std::int64_t kExpiresAfterNs = 10 * kNanosecondsPerSecond;

}  // namespace

std::string WeightTransfers::OnPull(const PeerId& peer, const wire::Pull& pull,
                                    const PayloadPointer& newest, std::int64_t now_ns) {
  Transfer& transfer = transfers_[{peer, pull.model}];
  const bool goes_on =
      pull.version != 0 && transfer.payload && transfer.payload->version == pull.version;
  if (!goes_on) transfer = {newest, 0, 0, now_ns};
  // A version that is gone begins anew with the newest.
  const bool from_there = goes_on || pull.version == 0 || pull.version == newest->version;
  const std::size_t offset = from_there ? pull.offset : 0;
  // guard: WeightTransfers.OffsetsThatNoChunkHasAreRefused: offsets are checked
  if (offset % wire::kChunkBytes != 0 || offset >= transfer.payload->bytes().size()) {
    transfers_.erase({peer, pull.model});
    return "PULL from byte " + std::to_string(pull.offset) +
           ": expected a multiple of 262144 inside the payload";
  }
  const std::size_t end = offset + std::min(pull.credit, kMaxCredit) * wire::kChunkBytes;
  if (!goes_on || offset > transfer.next) transfer.next = offset;
  // guard: WeightTransfers.NoMoreChunksThanCredit: credit is a window
  transfer.window_end = std::max(transfer.window_end, end);
  transfer.last_heard_ns = now_ns;
  return "";
}

void WeightTransfers::OnPublished(const ModelKey& model, const PayloadPointer& newest) {
  std::set<std::uint64_t, std::greater<>> older;
  for (const auto& [key, transfer] : transfers_) {
    if (key.second == model && !transfer.finished()) older.insert(transfer.payload->version);
  }
  // guard: WeightTransfers.VersionInTransferIsFinishedWhenNewerOnesAppear,
  //   WeightTransfers.AtMostThreeOlderVersionsAreKept: a version in transfer is finished; the
  //   number of old ones is bounded
  if (older.size() <= kMaxOlderVersions) return;
  const std::uint64_t oldest_kept = *std::next(older.begin(), kMaxOlderVersions - 1);
  for (auto& [key, transfer] : transfers_) {
    if (key.second != model || transfer.payload->version >= oldest_kept) continue;
    transfer.payload = newest;
    transfer.window_end -= std::min(transfer.window_end, transfer.next);
    transfer.next = 0;
  }
}

void WeightTransfers::Expire(std::int64_t now_ns) {
  // guard: WeightTransfers.SilentPlayersAreForgotten: players that are silent are forgotten
  std::erase_if(transfers_, [&](const auto& entry) {
    return entry.second.finished() || now_ns - entry.second.last_heard_ns > kExpiresAfterNs;
  });
}

std::pair<const WeightTransfers::Key, WeightTransfers::Transfer>* WeightTransfers::NextSendable(
    const std::optional<Key>& last) {
  // guard: WeightTransfers.PlayersTakeTurns: players take turns
  auto at = last ? transfers_.upper_bound(*last) : transfers_.begin();
  for (std::size_t i = 0; i < transfers_.size(); ++i, ++at) {
    if (at == transfers_.end()) at = transfers_.begin();
    if (at->second.sendable()) return &*at;
  }
  return nullptr;
}

}  // namespace murmurate
