// Messages: structs <-> bytes. The protocol is written here once, for both ends; schemas/README.md
// draws it. Nothing here has a socket or a clock.
//
// A message is two frames, or three where its row says so: a 32-byte little-endian header, one
// FlatBuffer (schemas/murmurate.fbs) no larger than its row's limit, and one raw block. Decoding
// never reads outside its input and never accepts what it did not check: size, magic, version,
// type, Verifier (max_depth 16, max_tables 4096), required fields, names ([A-Za-z0-9._-]{1,64}),
// counts, and that the copied parts are no larger than the bytes that came.
//
// A new message is a table of the schema, a struct in its protocol's header and a name in that
// header's variant.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "shared/wire/actor_messages.h"
#include "shared/wire/admin_messages.h"
#include "shared/wire/shard_messages.h"
#include "shared/wire/stream_messages.h"

namespace murmurate::wire {

template <typename... Actor, typename... Shard, typename... Stream, typename... Admin>
std::variant<Actor..., Shard..., Stream..., Admin...> AnyOf(std::variant<Actor...>,
                                                            std::variant<Shard...>,
                                                            std::variant<Stream...>,
                                                            std::variant<Admin...>);
/// Any message of any protocol.
using Body = decltype(AnyOf(ActorBody(), ShardBody(), StreamBody(), AdminBody()));

struct Decoded {
  Header header;
  Body body;
  std::span<const std::byte> block;  ///< the third frame of those that have one, not checked
};

/// A DecodeFailure says what could not be decoded and why; it goes back in an ERROR.
struct DecodeFailure {
  Refusal refusal = Refusal::kNone;
  std::string sentence;
  std::uint64_t sender = 0, sequence = 0;  ///< when the header could be read
};

/// Header and metadata frames of a message; the block, if any, is sent as a third frame. Sentences
/// and texts too long for their message are cut; names and counts must be good (the caller's own).
struct Encoded {
  std::array<std::byte, kHeaderBytes> header;
  std::vector<std::byte> metadata;
};
Encoded Encode(const Body& body, std::uint64_t sender, std::uint64_t sequence,
               std::size_t block_bytes = 0);

std::variant<Decoded, DecodeFailure> Decode(std::span<const std::span<const std::byte>> frames);
/// The header alone, of a first frame that is one of this protocol's; for what is cheaper to refuse
/// than to decode.
std::optional<Header> PeekHeader(std::span<const std::span<const std::byte>> frames);

}  // namespace murmurate::wire
