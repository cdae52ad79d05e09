// .npy files for tests, written from the format's description.
#pragma once

#include <fstream>
#include <string>
#include <vector>

namespace murmurate {

inline std::string NpyBytes(const std::string& descr, const std::string& shape,
                            const std::string& numbers) {
  std::string header =
      "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }";
  header.resize((10 + header.size() + 1 + 63) / 64 * 64 - 11, ' ');
  header += '\n';
  std::string bytes = "\x93NUMPY";
  bytes +=
      {'\1', '\0', static_cast<char>(header.size() & 255), static_cast<char>(header.size() >> 8)};
  return bytes + header + numbers;
}

template <typename T>
void WriteNpy(const std::string& path, const std::string& descr, const std::string& shape,
              const std::vector<T>& numbers) {
  std::ofstream(path, std::ios::binary) << NpyBytes(
      descr, shape, {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(T)});
}

}  // namespace murmurate
