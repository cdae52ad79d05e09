#include "server/operate/mailbox.h"

#include <utility>

namespace murmurate {
namespace {

constexpr std::size_t kManyWaiting = 1000;           ///< fewer wait for what comes next
constexpr std::size_t kFarTooManyWaiting = 100'000;  ///< mmr-operate is stuck

}  // namespace

void Mailbox::Post(Letter letter) {
  {
    const std::lock_guard lock(mutex_);
    letters_.push_back(std::move(letter));
  }
  wake_.Set();
}

void Mailbox::PostMinor(Letter letter, std::size_t numbers) {
  const std::lock_guard lock(mutex_);
  if (minor_ > kFarTooManyWaiting) return;
  letters_.push_back(std::move(letter));
  minor_ += numbers;
  if (minor_ >= kManyWaiting) wake_.Set();
}

std::vector<Mailbox::Letter> Mailbox::Empty() {
  const std::lock_guard lock(mutex_);
  minor_ = 0;
  return std::exchange(letters_, {});
}

}  // namespace murmurate
