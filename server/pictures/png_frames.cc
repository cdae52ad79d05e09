#include "server/pictures/png_frames.h"

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "shared/model/files.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;

constexpr int kBits = 4;  ///< of a pixel: sixteen colours
constexpr std::size_t kLongestBlock = 65'535;

std::string FrameName(int number) {
  char name[32];
  std::snprintf(name, sizeof name, "frame-%06d.png", number);
  return name;
}

/// Most significant byte first.
std::string Number(std::uint32_t value) {
  std::string bytes;
  for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(value >> shift & 0xff);
  return bytes;
}

/// CRC-32 of ISO 3309, as PNG's annex D has it.
std::uint32_t Crc32(std::string_view bytes) {
  std::uint32_t crc = 0xffffffff;
  for (const char byte : bytes) {
    crc ^= static_cast<std::uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? 0xedb88320 ^ crc >> 1 : crc >> 1;
  }
  return ~crc;
}

/// RFC 1950.
std::uint32_t Adler32(std::string_view bytes) {
  std::uint32_t a = 1, b = 0;
  for (const char byte : bytes) {
    a = (a + static_cast<std::uint8_t>(byte)) % 65'521;
    b = (b + a) % 65'521;
  }
  return b << 16 | a;
}

std::string Chunk(const std::string& type, const std::string& data) {
  const std::string sealed = type + data;
  return Number(static_cast<std::uint32_t>(data.size())) + sealed + Number(Crc32(sealed));
}

/// A zlib stream of stored blocks.
std::string Stored(std::string_view bytes) {
  std::string stream = "\x78\x01";
  const std::uint32_t sum = Adler32(bytes);
  while (!bytes.empty()) {
    const std::string_view block = bytes.substr(0, kLongestBlock);
    bytes.remove_prefix(block.size());
    const auto size = static_cast<std::uint32_t>(block.size());
    stream += static_cast<char>(bytes.empty());
    for (const std::uint32_t word : {size, ~size})
      stream += {static_cast<char>(word & 0xff), static_cast<char>(word >> 8 & 0xff)};
    stream += block;
  }
  return stream + Number(sum);
}

/// Rows of two pixels a byte, each behind a zero: no filter.
std::string PackedRows(const Canvas& canvas) {
  std::string rows;
  for (int y = 0; y < canvas.height(); ++y) {
    rows += '\0';
    for (int x = 0; x < canvas.width(); x += 2) {
      const int second = x + 1 < canvas.width() ? static_cast<int>(canvas.at(x + 1, y)) : 0;
      rows += static_cast<char>(static_cast<int>(canvas.at(x, y)) << kBits | second);
    }
  }
  return rows;
}

}  // namespace

std::string PngBytes(const Canvas& canvas) {
  const std::string header = Number(static_cast<std::uint32_t>(canvas.width())) +
                             Number(static_cast<std::uint32_t>(canvas.height())) +
                             std::string{kBits, 3, 0, 0, 0};  // 3: in a palette
  std::string palette;
  for (const Rgb& color : Palette())
    for (const std::uint8_t part : {color.red, color.green, color.blue})
      palette += static_cast<char>(part);
  return "\x89PNG\r\n\x1a\n" + Chunk("IHDR", header) + Chunk("PLTE", palette) +
         Chunk("IDAT", Stored(PackedRows(canvas))) + Chunk("IEND", "");
}

Result<std::unique_ptr<PngFrames>> PngFrames::Create(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    return ResourceError(folder + ": " + error.message() +
                         "; name a folder that can be made with --frames");
  if (fs::exists(folder + '/' + FrameName(1), error))
    return InvalidArgument(folder +
                           ": has frames already; remove them, or name another folder with "
                           "--frames");
  return std::unique_ptr<PngFrames>(new PngFrames(folder));
}

Status PngFrames::Add(const GameFrame& frame) {
  const std::string path = folder_ + '/' + FrameName(++count_);
  std::ofstream file(path, std::ios::binary);
  file << PngBytes(WithCaption(frame));
  file.close();
  return file ? Status() : ResourceError(FileSentence("write", path, errno));
}

}  // namespace murmurate
