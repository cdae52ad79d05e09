// Writes x.npy and y.npy into the working folder: 20,000 samples of a curve to learn, for
// `murmurate train regression` (examples/configs/regression.toml), as any program may write them.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace {

constexpr int kSamples = 20000;

/// The format is a short text and the numbers behind it (numpy.lib.format).
bool WriteNpy(const char* path, int width, const std::vector<float>& numbers) {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" +
                       std::to_string(kSamples) + ", " + std::to_string(width) + "), }";
  header.resize(117, ' ');
  const std::string begin = std::string("\x93NUMPY\1\0", 8) + '\x76' + '\0' + header + '\n';
  std::FILE* const file = std::fopen(path, "wb");
  if (file == nullptr) return false;
  const bool written =
      std::fwrite(begin.data(), 1, begin.size(), file) == begin.size() &&
      std::fwrite(numbers.data(), sizeof(float), numbers.size(), file) == numbers.size();
  return std::fclose(file) == 0 && written;
}

}  // namespace

int main() {
  std::mt19937 random(1);
  const auto number = [&] { return static_cast<float>(random()) / 2147483648.0f - 1.0f; };
  std::vector<float> x, y;
  for (int i = 0; i < kSamples; ++i) {
    const float a = number(), b = number();
    x.insert(x.end(), {a, b});
    y.push_back(std::sin(3.0f * a) + a * b);
  }
  if (WriteNpy("x.npy", 2, x) && WriteNpy("y.npy", 1, y)) return 0;
  std::perror("x.npy, y.npy");
  return 1;
}
