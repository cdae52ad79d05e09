// The metadata frame taken apart: verified, then copied out field by field; the room's own
// business.
#pragma once

#include <span>
#include <string>

#include "shared/wire/messages.h"

namespace murmurate::wire {

/// Why something is refused; refusal kNone: it is not.
struct Complaint {
  Refusal refusal = Refusal::kNone;
  std::string sentence;
};

/// `metadata` must be 16-byte aligned; `type` must be a known one.
Complaint ReadBody(MessageType type, std::span<const std::byte> metadata, std::size_t block_bytes,
                   Body* body);
/// Of those in stream_messages.h.
Complaint ReadStreamBody(MessageType type, std::span<const std::byte> metadata, Body* body);

}  // namespace murmurate::wire
