// GIF files are read back here by the rules of the format, with a decoder that shares nothing with
// the encoder.
#include "server/pictures/gif_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "server/pictures/lzw.h"
#include "shared/core/random.h"

namespace murmurate {
namespace {

namespace fs = std::filesystem;

/// The values of LZW codes: each code is read, its text looked up, and the table grown by it.
std::vector<std::uint8_t> Decode(const std::string& codes, int bits) {
  const std::size_t clear = std::size_t{1} << bits;
  std::vector<std::vector<std::uint8_t>> table;
  std::vector<std::uint8_t> values, before;
  int width = bits + 1;
  std::size_t bit = 0;
  const auto restart = [&] {
    table.assign(clear + 2, {});
    for (std::size_t i = 0; i < clear; ++i) table[i] = {static_cast<std::uint8_t>(i)};
    before.clear();
    width = bits + 1;
  };
  restart();
  while (bit + static_cast<std::size_t>(width) <= 8 * codes.size()) {
    std::size_t code = 0;
    for (int i = 0; i < width; ++i, ++bit)
      code |= static_cast<std::size_t>(codes[bit / 8] >> bit % 8 & 1) << i;
    if (code == clear + 1) return values;
    if (code == clear) {
      restart();
      continue;
    }
    std::vector<std::uint8_t> text;
    if (code < table.size()) text = table[code];
    if (code == table.size()) text = before, text.push_back(before.front());
    EXPECT_FALSE(text.empty()) << "code " << code << " of " << table.size();
    if (text.empty()) return values;
    values.insert(values.end(), text.begin(), text.end());
    if (!before.empty() && table.size() < 4096) {
      before.push_back(text.front());
      table.push_back(before);
      if (table.size() == std::size_t{1} << width && width < 12) ++width;
    }
    before = text;
  }
  ADD_FAILURE() << "the codes have no end";
  return values;
}

std::vector<std::uint8_t> Noise(std::size_t count, std::uint64_t colors, std::uint64_t seed) {
  Random random(seed);
  std::vector<std::uint8_t> values(count);
  for (std::uint8_t& value : values) value = static_cast<std::uint8_t>(random.UniformInt(colors));
  return values;
}

TEST(Lzw, ReadsBackWhateverTheLength) {
  for (std::size_t count = 0; count < 600; ++count) {
    const auto values = Noise(count, 16, count);
    ASSERT_EQ(Decode(LzwCodes(values, 4), 4), values) << count;
  }
}

TEST(Lzw, ReadsBackAfterTheTableWasFullAndCleared) {
  for (const std::uint64_t colors : {1, 2, 16}) {
    const auto values = Noise(200'000, colors, 7);
    EXPECT_EQ(Decode(LzwCodes(values, 4), 4), values) << colors;
  }
}

TEST(Lzw, ShortensWhatRepeats) {
  EXPECT_LT(LzwCodes(std::vector<std::uint8_t>(100'000, 3), 4).size(), 1000u);
}

struct ReadFrame {
  int delay;
  std::vector<std::uint8_t> pixels;  ///< of the whole screen, once it is drawn
};

/// The frames of a file in the form that GifFile writes: one palette, no interlacing.
class GifReader {
 public:
  explicit GifReader(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    bytes_ = text.str();
  }
  std::vector<ReadFrame> Read() {
    EXPECT_EQ(bytes_.substr(0, 6), "GIF89a");
    at_ = 6;
    width_ = Word(), height_ = Word();
    EXPECT_EQ(Byte() & 0x87, 0x83);  // 16 colours
    at_ += 2 + 3 * 16;
    std::vector<ReadFrame> frames;
    std::vector<std::uint8_t> screen(static_cast<std::size_t>(width_ * height_));
    int delay = -1;
    while (at_ < bytes_.size()) {
      const int kind = Byte();
      if (kind == 0x3b) {
        EXPECT_EQ(at_, bytes_.size());
        return frames;
      }
      if (kind == 0x21) {
        const bool control = Byte() == 0xf9;
        const std::string data = Blocks();
        if (control)
          delay = static_cast<std::uint8_t>(data[1]) + 256 * static_cast<std::uint8_t>(data[2]);
        continue;
      }
      EXPECT_EQ(kind, 0x2c);
      Draw(&screen);
      frames.push_back({delay, screen});
    }
    ADD_FAILURE() << "the file has no end";
    return frames;
  }
  int width() const { return width_; }
  int height() const { return height_; }

 private:
  int Byte() { return static_cast<std::uint8_t>(bytes_.at(at_++)); }
  int Word() {
    const int low = Byte();
    return low + 256 * Byte();
  }
  std::string Blocks() {
    std::string data;
    while (const int size = Byte()) {
      data += bytes_.substr(at_, static_cast<std::size_t>(size));
      at_ += static_cast<std::size_t>(size);
    }
    return data;
  }
  void Draw(std::vector<std::uint8_t>* screen) {
    const int left = Word(), top = Word(), width = Word(), height = Word();
    EXPECT_EQ(Byte(), 0);
    const int bits = Byte();
    const std::vector<std::uint8_t> pixels = Decode(Blocks(), bits);
    ASSERT_EQ(pixels.size(), static_cast<std::size_t>(width * height));
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width; ++x)
        screen->at(static_cast<std::size_t>((top + y) * width_ + left + x)) =
            pixels[static_cast<std::size_t>(y * width + x)];
  }

  std::string bytes_;
  std::size_t at_ = 0;
  int width_ = 0, height_ = 0;
};

class GifFileTest : public testing::Test {
 protected:
  GifFileTest() : path_(testing::TempDir() + "gif-test-" + std::to_string(getpid()) + ".gif") {}
  ~GifFileTest() override { fs::remove(path_); }

  /// A ball at a place of its own in each frame.
  static GameFrame Ball(int frame, double seconds) {
    GameFrame made;
    made.picture.Circle({20.0 + 3 * frame, 100.0 + frame % 7}, 9, Color::kOrange);
    made.caption = "step " + std::to_string(frame);
    made.seconds = seconds;
    return made;
  }
  const std::string path_;
};

TEST_F(GifFileTest, EachFrameReadsBackPixelForPixelWithItsTime) {
  auto gif = GifFile::Create(path_);
  ASSERT_TRUE(gif.ok()) << gif.status();
  for (int i = 0; i < 40; ++i) ASSERT_TRUE((*gif)->Add(Ball(i, i == 39 ? 1.0 : 0.04)).ok());
  ASSERT_TRUE((*gif)->Finish().ok());
  GifReader reader(path_);
  const std::vector<ReadFrame> frames = reader.Read();
  ASSERT_EQ(frames.size(), 40u);
  EXPECT_EQ(reader.width(), kPictureWidth);
  EXPECT_EQ(reader.height(), kPictureHeight + kCaptionHeight);
  for (int i = 0; i < 40; ++i) {
    const Canvas whole = WithCaption(Ball(i, 0));
    ASSERT_TRUE(std::ranges::equal(whole.pixels(), frames[static_cast<std::size_t>(i)].pixels))
        << i;
    EXPECT_EQ(frames[static_cast<std::size_t>(i)].delay, i == 39 ? 100 : 4) << i;
  }
}

TEST_F(GifFileTest, FramesThatAreTooShortAreLeftOutAndTheWholeTimeStays) {
  auto gif = GifFile::Create(path_);
  ASSERT_TRUE(gif.ok()) << gif.status();
  for (int i = 0; i < 300; ++i) ASSERT_TRUE((*gif)->Add(Ball(i % 80, 1 / 150.0)).ok());
  ASSERT_TRUE((*gif)->Finish().ok());
  int hundredths = 0;
  const std::vector<ReadFrame> frames = GifReader(path_).Read();
  for (const ReadFrame& frame : frames) {
    EXPECT_GE(frame.delay, 2);
    hundredths += frame.delay;
  }
  EXPECT_NEAR(hundredths, 200, 3);
  EXPECT_NEAR(static_cast<double>(frames.size()), 100, 2);
}

TEST_F(GifFileTest, ALongLastFrameBehindShortOnesIsTheOneThatIsSeen) {
  auto gif = GifFile::Create(path_);
  ASSERT_TRUE(gif.ok()) << gif.status();
  for (int i = 0; i < 9; ++i) ASSERT_TRUE((*gif)->Add(Ball(i, 0.01)).ok());
  ASSERT_TRUE((*gif)->Add(Ball(40, 1.0)).ok());
  ASSERT_TRUE((*gif)->Add(Ball(50, 0.01)).ok());  // of the next episode
  ASSERT_TRUE((*gif)->Add(Ball(51, 1.0)).ok());
  ASSERT_TRUE((*gif)->Finish().ok());
  const std::vector<ReadFrame> frames = GifReader(path_).Read();
  for (const int ball : {40, 51}) {
    const Canvas whole = WithCaption(Ball(ball, 0));
    const auto found = std::ranges::find_if(frames, [&](const ReadFrame& frame) {
      return std::ranges::equal(whole.pixels(), frame.pixels);
    });
    ASSERT_NE(found, frames.end()) << ball;
    EXPECT_NEAR(found->delay, 100, 2) << ball;
  }
}

TEST_F(GifFileTest, AFullDiskIsOneSentence) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "there is no /dev/full";
  auto gif = GifFile::Create("/dev/full");
  ASSERT_TRUE(gif.ok()) << gif.status();
  (void)(*gif)->Add(Ball(1, 1));
  const Status status = (*gif)->Finish();
  EXPECT_EQ(status.code(), StatusCode::kResource);
  EXPECT_EQ(status.message(),
            "cannot write /dev/full: No space left on device; free some space on that disk");
}

TEST_F(GifFileTest, AFolderThatIsMissingIsOneSentence) {
  const auto gif = GifFile::Create("/nowhere/at/all.gif");
  ASSERT_FALSE(gif.ok());
  EXPECT_NE(gif.status().message().find("cannot write /nowhere/at/all.gif"), std::string::npos)
      << gif.status();
}

}  // namespace
}  // namespace murmurate
