#include "server/pictures/gif_file.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <span>
#include <utility>

#include "server/pictures/lzw.h"
#include "shared/model/files.h"

namespace murmurate {
namespace {

constexpr int kBits = 4;  ///< of a pixel: sixteen colours
constexpr long kLeastHundredths = 2, kMostHundredths = 65'535;

std::string Word(long value) {
  return {static_cast<char>(value & 0xff), static_cast<char>(value >> 8 & 0xff)};
}

struct Area {
  int x = 0, y = 0, width = 1, height = 1;
};

/// The smallest rectangle that has all pixels that differ; one pixel where none does.
Area Changed(const Canvas& canvas, std::span<const std::uint8_t> before) {
  int left = canvas.width(), right = -1, top = canvas.height(), bottom = -1;
  std::size_t place = 0;
  for (int y = 0; y < canvas.height(); ++y)
    for (int x = 0; x < canvas.width(); ++x, ++place) {
      if (canvas.pixels()[place] == before[place]) continue;
      left = std::min(left, x), right = std::max(right, x);
      top = std::min(top, y), bottom = std::max(bottom, y);
    }
  if (right < 0) return {};
  return {left, top, right - left + 1, bottom - top + 1};
}

std::vector<std::uint8_t> PixelsOf(const Canvas& canvas, const Area& area) {
  std::vector<std::uint8_t> pixels;
  pixels.reserve(static_cast<std::size_t>(area.width) * static_cast<std::size_t>(area.height));
  for (int y = area.y; y < area.y + area.height; ++y)
    for (int x = area.x; x < area.x + area.width; ++x)
      pixels.push_back(static_cast<std::uint8_t>(canvas.at(x, y)));
  return pixels;
}

/// In blocks of at most 255 bytes, each behind its length, and an empty one at the end.
std::string Blocks(std::string_view bytes) {
  std::string blocks;
  for (; !bytes.empty(); bytes.remove_prefix(std::min<std::size_t>(255, bytes.size()))) {
    const std::string_view block = bytes.substr(0, 255);
    blocks += static_cast<char>(block.size());
    blocks += block;
  }
  return blocks + '\0';
}

}  // namespace

GifFile::GifFile(std::string path, std::FILE* file) : path_(std::move(path)), file_(file) {}

Result<std::unique_ptr<GifFile>> GifFile::Create(const std::string& path) {
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return ResourceError(FileSentence("write", path, errno));
  std::unique_ptr<GifFile> gif(new GifFile(path, file));
  gif->Begin();
  return gif;
}

void GifFile::Begin() {
  constexpr int kHeight = kPictureHeight + kCaptionHeight;
  std::string bytes = "GIF89a" + Word(kPictureWidth) + Word(kHeight);
  bytes += static_cast<char>(0xf0 | (kBits - 1));  // a palette of 2^kBits colours of 8 bits
  bytes += std::string(2, '\0');                   // its background; square pixels
  for (const Rgb& color : Palette())
    for (const std::uint8_t part : {color.red, color.green, color.blue})
      bytes += static_cast<char>(part);
  bytes += std::string("\x21\xff\x0bNETSCAPE2.0\x03\x01\0\0\0", 19);  // repeated for ever
  Write(bytes);
  shown_.assign(static_cast<std::size_t>(kPictureWidth) * kHeight, kColors);
}

void GifFile::Write(const std::string& bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_.get()) != bytes.size() && error_ == 0)
    error_ = errno;
}

Status GifFile::status() const {
  return error_ == 0 ? Status() : ResourceError(FileSentence("write", path_, error_));
}

Status GifFile::Add(const GameFrame& frame) {
  const long begin = std::lround(time_s_ * 100);
  time_s_ += frame.seconds;
  if (waiting_ && begin - written_hundredths_ >= kLeastHundredths)
    WriteWaiting(static_cast<double>(begin) / 100);
  waiting_.emplace(WithCaption(frame));
  return status();
}

void GifFile::WriteWaiting(double end_s) {
  const long end = std::lround(end_s * 100);
  const long delay = std::clamp(end - written_hundredths_, kLeastHundredths, kMostHundredths);
  written_hundredths_ = std::max(end, written_hundredths_);
  const Area area = Changed(*waiting_, shown_);
  std::string bytes = std::string("\x21\xf9\x04\x04", 4) + Word(delay) + std::string(2, '\0');
  bytes += '\x2c' + Word(area.x) + Word(area.y) + Word(area.width) + Word(area.height) + '\0';
  bytes += static_cast<char>(kBits);
  bytes += Blocks(LzwCodes(PixelsOf(*waiting_, area), kBits));
  Write(bytes);
  shown_.assign(waiting_->pixels().begin(), waiting_->pixels().end());
}

Status GifFile::Finish() {
  if (waiting_) WriteWaiting(time_s_);
  waiting_.reset();
  Write("\x3b");
  if (std::fflush(file_.get()) != 0 && error_ == 0) error_ = errno;
  return status();
}

}  // namespace murmurate
