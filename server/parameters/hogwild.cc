#include "server/parameters/hogwild.h"

#include <algorithm>

#include "shared/core/check.h"

namespace murmurate {
namespace {

constexpr std::size_t kPiece = 1024;  ///< floats

static_assert(std::atomic<float*>::is_always_lock_free);

std::size_t Pieces(std::size_t count) { return (count + kPiece - 1) / kPiece; }

}  // namespace

HogwildParameters::HogwildParameters(std::span<const float> initial, int threads, bool locking)
    : locking_(locking),
      size_(initial.size()),
      storage_(
          (Pieces(size_) + static_cast<std::size_t>(threads) * static_cast<std::size_t>(threads)) *
          kPiece),
      pieces_(Pieces(size_)),
      slots_(static_cast<std::size_t>(threads)) {
  std::copy(initial.begin(), initial.end(), storage_.begin());
  float* next = storage_.data();
  for (std::atomic<float*>& piece : pieces_) {
    piece.store(next);
    next += kPiece;
  }
  for (ThreadSlot& slot : slots_) {
    for (int i = 0; i < threads; ++i, next += kPiece) slot.spares.push_back(next);
  }
}

std::unique_lock<std::mutex> HogwildParameters::LockIfLocking() {
  // guard: HogwildParameters.WithALockEveryReadIsWhole (17 of 20): a step and a read hold the lock,
  //   if there is one
  return locking_ ? std::unique_lock(mutex_) : std::unique_lock<std::mutex>();
}

HogwildParameters::ThreadSlot& HogwildParameters::SlotOf(int thread) {
  const auto slot = static_cast<std::size_t>(thread);
  MURMURATE_CHECK(slot < slots_.size(), "a thread that there is");
  return slots_[slot];
}

std::size_t HogwildParameters::CountOf(std::size_t piece) const {
  return std::min(kPiece, size_ - piece * kPiece);
}

/// A thread that seeks a spare sees that this one is held, or had swapped it before: then the
/// second load sees that. Sequential consistency is needed, of these and of the loads in FreeSpare.
float* HogwildParameters::Hold(std::size_t piece, ThreadSlot& slot) {
  float* held = pieces_[piece].load();
  for (;;) {
    // guard: HogwildParameters.EveryPieceThatIsReadIsWholeAndNewerThanTheLastOne,
    //   HogwildParameters.LosesNoAddUnderContention (one of the two, 10 of 20; with a release store
    //   3 of 20): a piece is held, sequentially consistent, before it is seen in its place again
    slot.held.store(held);
    float* const now = pieces_[piece].load();
    if (now == held) return held;
    held = now;
  }
}

/// Others hold fewer than there are: where all seem held, one of them has moved on meanwhile.
float*& HogwildParameters::FreeSpare(ThreadSlot& slot) {
  for (;;) {
    for (float*& spare : slot.spares) {
      const auto is_held = [&](const ThreadSlot& other) { return other.held.load() == spare; };
      // guard: HogwildParameters.EveryPieceThatIsReadIsWholeAndNewerThanTheLastOne (15 of 20): a
      //   spare piece that a thread holds is not written
      if (std::none_of(slots_.begin(), slots_.end(), is_held)) return spare;
    }
  }
}

void HogwildParameters::StepPiece(std::size_t piece, ThreadSlot& slot, const StepFactors& factors,
                                  std::span<const float> gradient, std::span<float> seen) {
  float*& spare = FreeSpare(slot);
  const std::span<float> next(spare, gradient.size());
  float* held = nullptr;
  do {
    held = Hold(piece, slot);
    (void)SgdStepInto(factors, {held, gradient.size()}, gradient, next);
    if (!seen.empty()) std::copy(next.begin(), next.end(), seen.begin());
    // guard: HogwildParameters.AThreadThatIsStoppedInTheMiddleOfAStepHoldsUpNobody (20 of 20),
    //   HogwildParameters.EightThreadsLoseNothingOfALargerBlock (12 of 20): a piece is swapped only
    //   if it is the one that was stepped
  } while (!pieces_[piece].compare_exchange_strong(held, spare));
  // guard: HogwildParameters.OneThreadHasTheBitsOfSgd (hangs): a piece is released when it was
  //   swapped
  slot.held.store(nullptr, std::memory_order_release);
  spare = held;
}

void HogwildParameters::Read(int thread, std::span<float> out) {
  MURMURATE_CHECK(out.size() == size_, "room for each parameter");
  const auto lock = LockIfLocking();
  ThreadSlot& slot = SlotOf(thread);
  for (std::size_t piece = 0; piece < pieces_.size(); ++piece)
    std::copy_n(Hold(piece, slot), CountOf(piece), out.subspan(piece * kPiece).begin());
  slot.held.store(nullptr, std::memory_order_release);
}

void HogwildParameters::Step(int thread, float learning_rate, float gradient_scale,
                             std::span<const float> gradient, std::span<float> seen) {
  MURMURATE_CHECK(gradient.size() == size_, "a gradient for each parameter");
  MURMURATE_CHECK(seen.empty() || seen.size() == size_, "room for each parameter");
  const auto lock = LockIfLocking();
  ThreadSlot& slot = SlotOf(thread);
  for (std::size_t piece = 0; piece < pieces_.size(); ++piece) {
    const std::size_t begin = piece * kPiece, count = CountOf(piece);
    StepPiece(piece, slot, {learning_rate, gradient_scale}, gradient.subspan(begin, count),
              seen.empty() ? seen : seen.subspan(begin, count));
  }
}

}  // namespace murmurate
