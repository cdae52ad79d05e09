// Writes what the configs of this folder learn from into the folder it is given, as .npy files:
//
//   make_distributed_data examples/distributed
//
// parabola-x.npy, parabola-y.npy   1,000 float32 of -1 to 1, and their squares
// digits-x.npy, digits-y.npy       6,000 pictures of 28 x 28 bytes, 784 in a row, of ten classes:
//                                  each class four strokes of its own, moved by up to two pixels
//                                  and blurred with noise. Of the size of MNIST's, none of MNIST.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

namespace {

constexpr int kPoints = 1000;
constexpr int kPictures = 6000, kClasses = 10, kSide = 28, kStrokes = 4, kMost = 2;

using Picture = std::array<float, kSide * kSide>;

/// The format is a short text and the numbers behind it (numpy.lib.format).
template <typename T>
bool WriteNpy(const std::string& path, const std::string& type, const std::string& shape,
              const std::vector<T>& numbers) {
  std::string header =
      "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  header.resize(117, ' ');
  const std::string begin = std::string("\x93NUMPY\1\0", 8) + '\x76' + '\0' + header + '\n';
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return false;
  const bool written =
      std::fwrite(begin.data(), 1, begin.size(), file) == begin.size() &&
      std::fwrite(numbers.data(), sizeof(T), numbers.size(), file) == numbers.size();
  return std::fclose(file) == 0 && written;
}

/// 0 to 1; the same on every machine, which std::uniform_real_distribution is not.
float Uniform(std::mt19937& random) { return static_cast<float>(random() >> 8) / 16777216.0f; }

bool WriteParabola(const std::string& folder) {
  std::mt19937 random(1);
  std::vector<float> x, y;
  for (int i = 0; i < kPoints; ++i) {
    x.push_back(2.0f * Uniform(random) - 1.0f);
    y.push_back(x.back() * x.back());
  }
  const std::string shape = std::to_string(kPoints) + ", 1";
  return WriteNpy(folder + "/parabola-x.npy", "<f4", shape, x) &&
         WriteNpy(folder + "/parabola-y.npy", "<f4", shape, y);
}

/// Strokes between random points, two pixels wide.
Picture DrawClass(std::mt19937& random) {
  Picture picture{};
  for (int stroke = 0; stroke < kStrokes; ++stroke) {
    const auto place = [&] { return 5.0f + 17.0f * Uniform(random); };
    const float x0 = place(), y0 = place(), x1 = place(), y1 = place();
    for (int i = 0; i <= 40; ++i) {
      const float t = static_cast<float>(i) / 40.0f;
      const int x = static_cast<int>(x0 + t * (x1 - x0)), y = static_cast<int>(y0 + t * (y1 - y0));
      for (const int at : {y * kSide + x, y * kSide + x + 1, (y + 1) * kSide + x})
        picture[static_cast<std::size_t>(at)] = 1.0f;
    }
  }
  return picture;
}

/// A class's picture, moved, with noise.
void AddSample(const Picture& picture, std::mt19937& random, std::vector<std::uint8_t>* pixels) {
  const auto shift = [&] { return static_cast<int>(random() % (2 * kMost + 1)) - kMost; };
  const int right = shift(), down = shift();
  for (int y = 0; y < kSide; ++y) {
    for (int x = 0; x < kSide; ++x) {
      const int from_x = x - right, from_y = y - down;
      const bool inside = from_x >= 0 && from_x < kSide && from_y >= 0 && from_y < kSide;
      const float ink = inside ? picture[static_cast<std::size_t>(from_y * kSide + from_x)] : 0.0f;
      const float noise = 0.5f * Uniform(random);
      pixels->push_back(static_cast<std::uint8_t>(255.0f * std::min(1.0f, 0.6f * ink + noise)));
    }
  }
}

bool WriteDigits(const std::string& folder) {
  std::mt19937 random(2);
  std::vector<Picture> classes;
  for (int i = 0; i < kClasses; ++i) classes.push_back(DrawClass(random));
  std::vector<std::uint8_t> pixels;
  std::vector<std::int64_t> labels;
  for (int i = 0; i < kPictures; ++i) {
    labels.push_back(static_cast<std::int64_t>(random() % kClasses));
    AddSample(classes[static_cast<std::size_t>(labels.back())], random, &pixels);
  }
  const std::string count = std::to_string(kPictures);
  return WriteNpy(folder + "/digits-x.npy", "|u1", count + ", 784", pixels) &&
         WriteNpy(folder + "/digits-y.npy", "<i8", count + ",", labels);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : ".";
  if (WriteParabola(folder) && WriteDigits(folder)) return 0;
  std::perror((folder + ": data cannot be written there").c_str());
  return 1;
}
