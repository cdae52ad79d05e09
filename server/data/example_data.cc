#include "server/data/example_data.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <random>
#include <vector>

#include "server/data/data_settings.h"
#include "shared/core/check.h"
#include "shared/model/safetensors.h"

namespace murmurate {
namespace {

constexpr int kPoints = 1000, kGridPoints = 50, kCurvePoints = 20000;
constexpr int kPictures = 6000, kClasses = 10, kSide = 28, kStrokes = 4, kMost = 2;

using Picture = std::array<float, kSide * kSide>;

/// The bytes of two .npy files, and what they hold in words.
struct Arrays {
  std::string observations, labels, words;
};

/// The format is a short text and the numbers behind it (numpy.lib.format).
template <typename T>
std::string Npy(const std::string& type, const std::string& shape, const std::vector<T>& numbers) {
  std::string header =
      "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  header.resize(117, ' ');
  std::string file = std::string("\x93NUMPY\1\0", 8) + '\x76' + '\0' + header + '\n';
  file.append(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(T));
  return file;
}

/// 0 to 1; the same on every machine, which std::uniform_real_distribution is not.
float Uniform(std::mt19937& random) { return static_cast<float>(random() >> 8) / 16777216.0f; }

std::string Column(const std::vector<float>& numbers) {
  return Npy("<f4", std::to_string(numbers.size()) + ", 1", numbers);
}

Arrays Squares(const std::vector<float>& x, const std::string& words) {
  std::vector<float> y;
  for (const float one : x) y.push_back(one * one);
  return {Column(x), Column(y), words};
}

Arrays Parabola() {
  std::mt19937 random(1);
  std::vector<float> x;
  for (int i = 0; i < kPoints; ++i) x.push_back(2.0f * Uniform(random) - 1.0f);
  return Squares(x, "1,000 points of y = x^2");
}

Arrays ParabolaGrid() {
  std::vector<float> x;
  for (int i = 0; i < kGridPoints; ++i)
    x.push_back(static_cast<float>(-2.0 + 4.0 * i / (kGridPoints - 1)));
  return Squares(x, "50 points of y = x^2");
}

Arrays Curve() {
  std::mt19937 random(1);
  const auto number = [&] { return static_cast<float>(random()) / 2147483648.0f - 1.0f; };
  std::vector<float> x, y;
  for (int i = 0; i < kCurvePoints; ++i) {
    const float a = number(), b = number();
    x.insert(x.end(), {a, b});
    y.push_back(std::sin(3.0f * a) + a * b);
  }
  return {Npy("<f4", std::to_string(kCurvePoints) + ", 2", x), Column(y),
          "20,000 points of y = sin(3 a) + a b"};
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

Arrays Digits() {
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
  return {Npy("|u1", count + ", 784", pixels), Npy("<i8", count + ",", labels),
          "6,000 pictures of ten classes"};
}

Arrays Compute(ExampleData example) {
  switch (example) {
    case ExampleData::kParabola:
      return Parabola();
    case ExampleData::kParabolaGrid:
      return ParabolaGrid();
    case ExampleData::kCurve:
      return Curve();
    case ExampleData::kDigits:
      break;
  }
  return Digits();
}

}  // namespace

Result<std::string> MakeExampleData(const DataSettings& settings) {
  if (!settings.example) return std::string();
  const std::string& x = settings.arrays.observations.at(0).path;
  const std::string& y = settings.arrays.labels.at(0).path;
  std::error_code error;
  const bool has_x = std::filesystem::exists(x, error), has_y = std::filesystem::exists(y, error);
  if (has_x && has_y) return std::string();
  const Arrays arrays = Compute(*settings.example);
  std::string made;
  const auto make = [&](const std::string& path, const std::string& bytes) -> Status {
    made += (made.empty() ? "" : " and ") + path;
    return WriteFileAtomically(path, std::as_bytes(std::span(bytes.data(), bytes.size())));
  };
  if (!has_x) MURMURATE_RETURN_IF_ERROR(make(x, arrays.observations));
  if (!has_y) MURMURATE_RETURN_IF_ERROR(make(y, arrays.labels));
  return "Made " + made + ": " + arrays.words + '.';
}

}  // namespace murmurate
