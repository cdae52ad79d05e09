// OpenPairs: how many complete pairs of each horizon one device has that are not learned yet.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>

namespace murmurate {

class OpenPairs {
 public:
  explicit OpenPairs(int horizons)
      : near_(std::make_unique<std::uint32_t[]>(static_cast<std::size_t>(horizons - 1))),
        horizons_(horizons) {}

  std::uint32_t& operator[](int horizon) {
    return horizon + 1 == horizons_ ? farthest_ : near_[static_cast<std::size_t>(horizon)];
  }
  std::uint32_t& farthest() { return farthest_; }
  bool Any() const {
    return farthest_ > 0 || std::ranges::any_of(Near(), [](auto pairs) { return pairs > 0; });
  }
  void Clear() {
    farthest_ = 0;
    std::ranges::fill(Near(), 0u);
  }

 private:
  std::span<std::uint32_t> Near() const {
    return {near_.get(), static_cast<std::size_t>(horizons_ - 1)};
  }

  std::unique_ptr<std::uint32_t[]> near_;  ///< of each horizon but the farthest
  std::uint32_t farthest_ = 0;
  int horizons_;
};

}  // namespace murmurate
