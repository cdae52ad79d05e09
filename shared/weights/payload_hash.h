// xxh3-64 of a whole payload, as announcements and chunks carry it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace murmurate {

std::uint64_t PayloadHash(std::span<const std::byte> payload);

/// The hash of a payload that passes in pieces.
class PassingHash {
 public:
  PassingHash();
  ~PassingHash();
  void Begin();
  void Add(std::span<const std::byte> piece);
  std::uint64_t value() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace murmurate
