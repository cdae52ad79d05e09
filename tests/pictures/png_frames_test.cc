// PNG files are read back with zlib, which shares nothing with what writes them.
#include "server/pictures/png_frames.h"

#include <gtest/gtest.h>
#include <unistd.h>
#ifdef MURMURATE_ZLIB
#include <zlib.h>
#endif

#include <filesystem>

namespace murmurate {
namespace {

namespace fs = std::filesystem;

std::uint32_t NumberAt(const std::string& bytes, std::size_t at) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < 4; ++i)
    number = number << 8 | static_cast<std::uint8_t>(bytes.at(at + i));
  return number;
}

#ifdef MURMURATE_ZLIB
/// The data of the chunk of a type; each chunk's sum is checked on the way.
std::string ChunkOf(const std::string& png, const std::string& type) {
  std::string found;
  for (std::size_t at = 8; at < png.size();) {
    const std::size_t size = NumberAt(png, at);
    const std::string sealed = png.substr(at + 4, 4 + size);
    const auto sum =
        crc32(0, reinterpret_cast<const Bytef*>(sealed.data()), static_cast<uInt>(sealed.size()));
    EXPECT_EQ(NumberAt(png, at + 8 + size), sum) << sealed.substr(0, 4);
    if (sealed.starts_with(type)) found = sealed.substr(4);
    at += 12 + size;
  }
  return found;
}
#endif

TEST(PngFrames, ReadBackPixelForPixel) {
#ifndef MURMURATE_ZLIB
  GTEST_SKIP() << "zlib1g-dev is not installed";
#else
  Canvas canvas(321, 300);  // an odd row, and more bytes than one block
  canvas.Circle({100, 90}, 60, Color::kTeal);
  canvas.Line({0, 0}, {320, 299}, 5, Color::kYellow);
  const std::string png = PngBytes(canvas);
  ASSERT_EQ(png.substr(0, 8), "\x89PNG\r\n\x1a\n");
  const std::string header = ChunkOf(png, "IHDR"), packed = ChunkOf(png, "IDAT");
  EXPECT_EQ(NumberAt(header, 0), 321u);
  EXPECT_EQ(NumberAt(header, 4), 300u);
  EXPECT_EQ(header.substr(8), std::string({4, 3, 0, 0, 0}));
  std::string rows(300 * 162, '\0');
  uLongf size = rows.size();
  ASSERT_EQ(uncompress(reinterpret_cast<Bytef*>(rows.data()), &size,
                       reinterpret_cast<const Bytef*>(packed.data()), packed.size()),
            Z_OK);
  ASSERT_EQ(size, rows.size());
  for (int y = 0; y < 300; ++y)
    for (int x = 0; x < 321; ++x) {
      const auto byte =
          static_cast<std::uint8_t>(rows[static_cast<std::size_t>(162 * y + 1 + x / 2)]);
      ASSERT_EQ(x % 2 == 0 ? byte >> 4 : byte & 15, static_cast<int>(canvas.at(x, y)))
          << x << ' ' << y;
    }
  const std::string palette = ChunkOf(png, "PLTE");
  ASSERT_EQ(palette.size(), 48u);
  EXPECT_EQ(static_cast<std::uint8_t>(palette[3 * static_cast<int>(Color::kTeal)]),
            Palette()[15].red);
#endif
}

TEST(PngFrames, AFolderOfFramesIsNotWrittenOver) {
  const std::string folder = testing::TempDir() + "frames-test-" + std::to_string(getpid());
  auto frames = PngFrames::Create(folder);
  ASSERT_TRUE(frames.ok()) << frames.status();
  ASSERT_TRUE((*frames)->Add({}).ok());
  ASSERT_TRUE((*frames)->Add({}).ok());
  EXPECT_TRUE(fs::exists(folder + "/frame-000002.png"));
  const auto again = PngFrames::Create(folder);
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.status().message(),
            folder + ": has frames already; remove them, or name another folder with --frames");
  fs::remove_all(folder);
}

}  // namespace
}  // namespace murmurate
