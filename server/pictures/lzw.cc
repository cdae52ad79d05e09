#include "server/pictures/lzw.h"

#include <unordered_map>
#include <utility>

namespace murmurate {
namespace {

constexpr std::uint32_t kMostCodes = 4096;

class BitWriter {
 public:
  void Write(std::uint32_t code, int width) {
    pending_ |= code << count_;
    count_ += width;
    for (; count_ >= 8; count_ -= 8, pending_ >>= 8)
      bytes_.push_back(static_cast<char>(pending_ & 0xff));
  }
  std::string Finish() {
    if (count_ > 0) bytes_.push_back(static_cast<char>(pending_ & 0xff));
    return std::move(bytes_);
  }

 private:
  std::string bytes_;
  std::uint32_t pending_ = 0;
  int count_ = 0;
};

class Encoder {
 public:
  explicit Encoder(int bits) : bits_(bits), clear_(1u << bits), width_(bits + 1) { Clear(); }

  std::string Encode(std::span<const std::uint8_t> values) {
    if (!values.empty()) {
      std::uint32_t prefix = values.front();
      for (const std::uint8_t value : values.subspan(1)) prefix = Extend(prefix, value);
      out_.Write(prefix, width_);
    }
    // The reader adds a code for each that it reads but the first, so this one may need one bit more.
    if (next_ == (1u << width_) && width_ < 12) ++width_;
    out_.Write(clear_ + 1, width_);
    return out_.Finish();
  }

 private:
  void Clear() {
    out_.Write(clear_, width_);
    codes_.clear();
    next_ = clear_ + 2;
    width_ = bits_ + 1;
  }

  /// The code of the longest known run: with `value` behind it, or `value` alone once `prefix` is
  /// written.
  std::uint32_t Extend(std::uint32_t prefix, std::uint8_t value) {
    const std::uint32_t run = prefix << 8 | value;
    if (const auto known = codes_.find(run); known != codes_.end()) return known->second;
    out_.Write(prefix, width_);
    if (next_ == kMostCodes) {
      Clear();
      return value;
    }
    if (next_ == (1u << width_)) ++width_;
    codes_.emplace(run, next_++);
    return value;
  }

  const int bits_;
  const std::uint32_t clear_;
  int width_;
  BitWriter out_;
  std::unordered_map<std::uint32_t, std::uint32_t> codes_;
  std::uint32_t next_ = 0;
};

}  // namespace

std::string LzwCodes(std::span<const std::uint8_t> values, int bits) {
  return Encoder(bits).Encode(values);
}

}  // namespace murmurate
