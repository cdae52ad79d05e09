// AlignedFloats: a block of floats that starts on a 64-byte border (one cache line, one AVX-512
// load).
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <span>

namespace murmurate {

class AlignedFloats {
 public:
  AlignedFloats() = default;
  /// `count` zeros; the allocation is rounded up to whole 64-byte lines.
  explicit AlignedFloats(std::size_t count) : size_(count) {
    const std::size_t bytes = (count * sizeof(float) + 63) / 64 * 64;
    if (bytes == 0) return;
    data_.reset(static_cast<float*>(::operator new(bytes, kBorder)));
    std::memset(data_.get(), 0, bytes);
  }

  float* data() { return data_.get(); }
  const float* data() const { return data_.get(); }
  std::size_t size() const { return size_; }
  float& operator[](std::size_t i) { return data_.get()[i]; }
  float operator[](std::size_t i) const { return data_.get()[i]; }
  float* begin() { return data(); }
  float* end() { return data() + size_; }
  const float* begin() const { return data(); }
  const float* end() const { return data() + size_; }
  operator std::span<float>() { return {data(), size_}; }
  operator std::span<const float>() const { return {data(), size_}; }

 private:
  static constexpr std::align_val_t kBorder{64};
  struct Free {
    void operator()(float* p) const { ::operator delete(p, kBorder); }
  };
  std::unique_ptr<float[], Free> data_;
  std::size_t size_ = 0;
};

}  // namespace murmurate
