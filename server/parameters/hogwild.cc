#include "server/parameters/hogwild.h"

#include <algorithm>
#include <thread>

#include "server/parameters/apply.h"
#include "shared/core/check.h"

namespace murmurate {
namespace {

constexpr std::size_t kPiece = 1024;  ///< floats
constexpr int kSpins = 256;           ///< before the processor goes to whoever holds the flag

std::size_t Pieces(std::size_t count) { return (count + kPiece - 1) / kPiece; }

void Take(std::atomic<bool>& taken) {
  while (taken.exchange(true, std::memory_order_acquire)) {
    for (int i = 0; taken.load(std::memory_order_relaxed); ++i)
      if (i >= kSpins) std::this_thread::yield();
  }
}

}  // namespace

HogwildParameters::HogwildParameters(std::span<const float> initial, bool locking)
    : locking_(locking),
      values_(initial.size()),
      flags_(locking ? nullptr : std::make_unique<Flag[]>(Pieces(initial.size()))) {
  std::copy(initial.begin(), initial.end(), values_.begin());
}

/// Calls visit(begin, count) for each piece, or the whole block, while nobody else is inside it.
template <typename Visit>
void HogwildParameters::EachPiece(Visit visit) const {
  if (locking_) {
    const std::lock_guard lock(mutex_);
    return visit(std::size_t{0}, values_.size());
  }
  for (std::size_t piece = 0; piece < Pieces(values_.size()); ++piece) {
    std::atomic<bool>& taken = flags_[piece].taken;
    Take(taken);
    visit(piece * kPiece, std::min(kPiece, values_.size() - piece * kPiece));
    taken.store(false, std::memory_order_release);
  }
}

void HogwildParameters::Read(std::span<float> out) const {
  MURMURATE_CHECK(out.size() == values_.size(), "room for each parameter");
  EachPiece([&](std::size_t begin, std::size_t count) {
    std::copy_n(values_.begin() + begin, count, out.begin() + static_cast<std::ptrdiff_t>(begin));
  });
}

void HogwildParameters::Step(float learning_rate, float gradient_scale,
                             std::span<const float> gradient, std::span<float> seen) {
  MURMURATE_CHECK(gradient.size() == values_.size(), "a gradient for each parameter");
  MURMURATE_CHECK(seen.empty() || seen.size() == values_.size(), "room for each parameter");
  EachPiece([&](std::size_t begin, std::size_t count) {
    const auto piece = std::span<float>(values_).subspan(begin, count);
    SgdStep({learning_rate, gradient_scale}, gradient.subspan(begin, count), piece);
    if (!seen.empty())
      std::copy(piece.begin(), piece.end(), seen.begin() + static_cast<std::ptrdiff_t>(begin));
  });
}

}  // namespace murmurate
