// Structs cross the border while both sides grow: `size` says how much of one the caller knows.
//
//   caller's size < ours    an older caller: what is missing is 0, its default
//   caller's size > ours    a newer caller: the rest must be 0 (what we are given), or becomes 0
//                           (what we fill)
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "client/c_abi/last_error.h"

namespace murmurate::c_abi {

inline constexpr std::uint32_t kMostStructBytes = 4096;  // more is no size, but garbage

/// MMR_OK, or what is wrong with `size` of the struct called `name`.
inline mmr_status CheckSize(std::uint32_t size, const char* name, std::size_t ours) {
  if (size > 0 && size <= kMostStructBytes && size % 4 == 0) return MMR_OK;
  const std::string text = std::string(name) + ".size is " + std::to_string(size);
  if (size == 0) return Fail(text + ": set it to sizeof(" + name + ")");
  return Fail(text + ", which no version of it has (this one: " + std::to_string(ours) +
              "): set it to sizeof(" + name + ") and the rest to 0");
}

/// Reads a struct of a caller whose header has another size than ours.
template <typename T>
[[gnu::noinline]] mmr_status ReadOtherSize(const T* given, const char* name, T* out) {
  const std::uint32_t size = given->size;
  *out = T{};
  if (const mmr_status status = CheckSize(size, name, sizeof(T)); status != MMR_OK) return status;
  const char* bytes = reinterpret_cast<const char*>(given);
  std::memcpy(out, bytes, std::min<std::size_t>(size, sizeof(T)));
  if (size > sizeof(T) && std::any_of(bytes + sizeof(T), bytes + size, [](char c) { return c; })) {
    return Fail(std::string(name) + ".size is " + std::to_string(size) + ", this library (" +
                mmr_version() + ") knows " + std::to_string(sizeof(T)) +
                " bytes of it, and the rest is not 0: install the library of the newer header, or "
                "leave what it added at 0");
  }
  return MMR_OK;
}

/// Reads what a caller gives. `given` is not null.
template <typename T>
mmr_status Read(const T* given, const char* name, T* out) {
  if (given->size != sizeof(T)) return ReadOtherSize(given, name, out);
  *out = *given;
  return MMR_OK;
}

/// Reads like Read, without a copy where none is needed; null when it cannot be read.
template <typename T>
const T* Known(const T* given, const char* name, T* copy) {
  if (given->size == sizeof(T)) [[likely]]
    return given;
  return ReadOtherSize(given, name, copy) == MMR_OK ? copy : nullptr;
}

/// Element `i` of an array of structs that lie as far apart as the first one's size says.
template <typename T>
const T* At(const T* first, std::uint64_t i) {
  return reinterpret_cast<const T*>(reinterpret_cast<const char*>(first) + i * first->size);
}

/// Fills what a caller wants to know. `to` is not null.
template <typename T>
mmr_status Write(T from, const char* name, T* to) {
  const std::uint32_t size = to->size;
  if (const mmr_status status = CheckSize(size, name, sizeof(T)); status != MMR_OK) return status;
  from.size = size;
  char* bytes = reinterpret_cast<char*>(to);
  std::memcpy(bytes, &from, std::min<std::size_t>(size, sizeof(T)));
  if (size > sizeof(T)) std::memset(bytes + sizeof(T), 0, size - sizeof(T));
  return MMR_OK;
}

}  // namespace murmurate::c_abi
