// Messages as tests decode them: to the body they expect, or to a failure.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <initializer_list>
#include <variant>
#include <vector>

#include "shared/wire/messages.h"
#include "tests/wire/samples.h"

namespace murmurate::wire {

inline std::vector<std::byte> Bytes(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

template <typename T>
T DecodedAs(const WireMessage& message) {
  const auto decoded = message.Decode();
  if (const auto* failure = std::get_if<DecodeFailure>(&decoded)) {
    ADD_FAILURE() << failure->sentence;
    return T{};
  }
  return std::get<T>(std::get<Decoded>(decoded).body);
}

inline DecodeFailure FailureOf(const WireMessage& message) {
  const auto decoded = message.Decode();
  if (std::holds_alternative<Decoded>(decoded)) {
    ADD_FAILURE() << "it was accepted";
    return {};
  }
  return std::get<DecodeFailure>(decoded);
}

/// The metadata frame under a header of the given type.
inline WireMessage Under(MessageType type, const std::vector<std::byte>& metadata) {
  WireMessage message = ToWire(Bye{}, 99, 7);
  message.frames[1] = metadata;
  message.frames[0][6] = static_cast<std::byte>(type);
  message.frames[0][12] = static_cast<std::byte>(metadata.size());
  message.frames[0][13] = static_cast<std::byte>(metadata.size() >> 8);
  return message;
}

}  // namespace murmurate::wire
