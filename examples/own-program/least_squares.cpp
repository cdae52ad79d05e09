// Least squares by processes that share the rows: a C++ program with a loss of its own.
//
//   murmurate params own-program --shard 0 --set parameters.workers=2 &
//   g++ -std=c++20 least_squares.cpp $(pkg-config --cflags --libs murmurate-parameters) -o least_squares
//   ./least_squares 0 2 & ./least_squares 1 2; wait        # this process's number, of how many
//
// Both print the same weights, close to those that made the rows: 1, -2, 3 and the bias 0.5.
#include <murmurate/parameters.h>

#include <cstdlib>
#include <iostream>
#include <random>
#include <vector>

int main(int count, char** arguments) {
  const int worker = count > 1 ? std::atoi(arguments[1]) : 0;
  const int workers = count > 2 ? std::atoi(arguments[2]) : 1;
  const std::string server = count > 3 ? arguments[3] : "ipc:///tmp/murmurate-own";
  const float truth[] = {1, -2, 3};

  std::vector<float> weights(3), bias(1), weights_gradient(3), bias_gradient(1);
  auto options = murmurate::Parameters::DefaultOptions();
  options.worker = static_cast<std::uint32_t>(worker);
  auto joined = murmurate::Parameters::Join(
      server, {{"weights", {3}, weights}, {"bias", {1}, bias}}, options);
  if (!joined.ok()) return std::cerr << joined.status().message() << '\n', 1;

  std::mt19937 random(static_cast<unsigned>(worker));
  std::normal_distribution<float> normal;
  for (int step = 0; step < 500; ++step) {
    std::fill(weights_gradient.begin(), weights_gradient.end(), 0.0f);
    bias_gradient[0] = 0;
    for (int row = 0; row < 32; ++row) {  // of the mean of (w x + b - y)^2 / 2
      float x[3], error = bias[0] - 0.5f;
      for (int i = 0; i < 3; ++i) error += (weights[i] - truth[i]) * (x[i] = normal(random));
      for (int i = 0; i < 3; ++i) weights_gradient[i] += error * x[i] / 32;
      bias_gradient[0] += error / 32;
    }
    const auto pushed = joined->Push({weights_gradient.data(), bias_gradient.data()}, 0.1);
    if (!pushed.ok()) return std::cerr << pushed.message() << '\n', 1;
  }
  std::cout << "of " << workers << " processes: " << weights[0] << ' ' << weights[1] << ' '
            << weights[2] << ", " << bias[0] << '\n';
}
