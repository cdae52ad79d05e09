#include <algorithm>
#include <memory>

#include "shared/wire/little_endian.h"
#include "shared/wire/messages.h"
#include "shared/wire/read_body.h"

namespace murmurate::wire {
namespace {

/// Small ZeroMQ payloads start anywhere; FlatBuffers must start on the border of its largest
/// number.
class AlignedCopy {
 public:
  explicit AlignedCopy(std::span<const std::byte> bytes) : size_(bytes.size()) {
    if (size_ > sizeof(small_)) large_ = std::make_unique<Line[]>(size_ / sizeof(Line) + 1);
    std::copy(bytes.begin(), bytes.end(), data());
  }
  std::span<const std::byte> bytes() { return {data(), size_}; }

 private:
  struct alignas(16) Line {
    std::byte bytes[16];
  };
  std::byte* data() { return large_ ? large_[0].bytes : small_; }

  std::size_t size_;
  std::unique_ptr<Line[]> large_;
  alignas(16) std::byte small_[kMaxMetadataBytes];
};

bool HasBlock(MessageType type) {
  return type == MessageType::kExperience || type == MessageType::kChunk ||
         type == MessageType::kPush || type == MessageType::kCenter;
}

bool IsReport(MessageType type) {
  return type == MessageType::kAdmin || type == MessageType::kAdminOk || type == MessageType::kJoin;
}

bool HasNumbersOfAStream(MessageType type) {
  return type == MessageType::kStreamHello || type == MessageType::kStreamOk ||
         type == MessageType::kSample || type == MessageType::kSamplesCommitted;
}

std::size_t MostMetadataBytes(MessageType type) {
  if (type == MessageType::kHello || type == MessageType::kHelloOk) return kMaxHelloBytes;
  if (type == MessageType::kForecast) return kMaxForecastBytes;
  return IsReport(type) || HasNumbersOfAStream(type) ? kMaxGreetingBytes : kMaxMetadataBytes;
}

bool IsKnown(MessageType type) {
  return type >= MessageType::kHello && type <= MessageType::kSamplesCommitted &&
         type != MessageType::kInfer && type != MessageType::kInferOk;
}

Header ReadHeader(const std::byte* bytes) {
  Header header;
  header.major = GetLittleEndian<std::uint8_t>(bytes + 4);
  header.minor = GetLittleEndian<std::uint8_t>(bytes + 5);
  header.type = static_cast<MessageType>(GetLittleEndian<std::uint16_t>(bytes + 6));
  header.flags = GetLittleEndian<std::uint32_t>(bytes + 8);
  header.body_bytes = GetLittleEndian<std::uint32_t>(bytes + 12);
  header.sender = GetLittleEndian<std::uint64_t>(bytes + 16);
  header.sequence = GetLittleEndian<std::uint64_t>(bytes + 24);
  return header;
}

using Frames = std::span<const std::span<const std::byte>>;

/// What is wrong before a byte of the metadata is looked at; refusal kNone when nothing is.
Complaint CheckOutside(const Header& header, Frames frames) {
  if (header.major != kMajor) {
    return {Refusal::kVersion, "this side speaks protocol version " + std::to_string(kMajor) +
                                   ", the message has " + std::to_string(header.major) +
                                   ": update the older of the two programs"};
  }
  if (!IsKnown(header.type)) {
    return {Refusal::kUnknownType, "message type " + std::to_string(static_cast<int>(header.type)) +
                                       " is not known here: update the older of the two programs"};
  }
  if (header.flags != 0) return {Refusal::kMalformed, "header flags: expected 0"};
  const std::size_t expected = HasBlock(header.type) ? 3 : 2;
  if (frames.size() != expected) {
    return {Refusal::kMalformed, "expected " + std::to_string(expected) + " frames, got " +
                                     std::to_string(frames.size())};
  }
  const std::size_t limit = MostMetadataBytes(header.type);
  if (frames[1].size() > limit) {
    return {Refusal::kTooLarge, "metadata: expected at most " + std::to_string(limit) +
                                    " bytes, got " + std::to_string(frames[1].size())};
  }
  const std::size_t body = frames[1].size() + (HasBlock(header.type) ? frames[2].size() : 0);
  if (header.body_bytes != body) {
    return {Refusal::kMalformed, "the header says " + std::to_string(header.body_bytes) +
                                     " bytes follow, got " + std::to_string(body)};
  }
  return {};
}

}  // namespace

std::optional<Header> PeekHeader(Frames frames) {
  if (frames.empty() || frames[0].size() != kHeaderBytes) return std::nullopt;
  if (GetLittleEndian<std::uint32_t>(frames[0].data()) != kMagic) return std::nullopt;
  return ReadHeader(frames[0].data());
}

std::variant<Decoded, DecodeFailure> Decode(Frames frames) {
  if (frames.empty() || frames[0].size() != kHeaderBytes) {
    return DecodeFailure{Refusal::kMalformed, "expected a header of 32 bytes", 0, 0};
  }
  if (GetLittleEndian<std::uint32_t>(frames[0].data()) != kMagic) {
    return DecodeFailure{Refusal::kMalformed, "expected a header that starts with MMR1", 0, 0};
  }
  Decoded decoded;
  decoded.header = ReadHeader(frames[0].data());
  Complaint complaint = CheckOutside(decoded.header, frames);
  if (complaint.refusal == Refusal::kNone) {
    if (HasBlock(decoded.header.type)) decoded.block = frames[2];
    AlignedCopy metadata(frames[1]);
    complaint =
        ReadBody(decoded.header.type, metadata.bytes(), decoded.block.size(), &decoded.body);
  }
  if (complaint.refusal == Refusal::kNone) return decoded;
  return DecodeFailure{complaint.refusal, std::move(complaint.sentence), decoded.header.sender,
                       decoded.header.sequence};
}

}  // namespace murmurate::wire
