// What every Device promises, on the host device and, in the campaign, on a GPU: products and
// convolutions of many shapes against sums in double, copies, graphs, events between streams.
#include <gtest/gtest.h>

#include <cmath>

#include "server/compute/device/calls/layers.h"
#include "server/compute/device/device_event_holder.h"
#include "server/compute/device/device_memory.h"
#include "shared/core/random.h"
#include "tests/device/test_device.h"

namespace murmurate {
namespace {

using Floats = std::vector<float>;
constexpr double kTolerance = 1e-5;  // of the largest number: float32 sums in any order

Floats Normals(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  Floats numbers(count);
  for (float& number : numbers) number = static_cast<float>(random.Normal());
  return numbers;
}

class AnyDevice : public testing::Test {
 protected:
  AnyDevice() : device_(MakeTestDevice()), done_(device_.get()) {}
  ~AnyDevice() override {
    for (void* block : blocks_) device_->Free(block);
    EXPECT_EQ(device_->error(), "");
  }

  Device* device() { return device_.get(); }
  void Wait(Stream stream = Stream::kMain) {
    device_->Record(stream, done_.get());
    device_->Await(done_.get());
  }
  float* Put(const Floats& numbers) {
    blocks_.push_back(device_->Allocate(numbers.size() * sizeof(float)));
    auto* const to = static_cast<float*>(blocks_.back());
    device_->CopyIn(Stream::kMain, to, numbers.data(), numbers.size() * sizeof(float));
    Wait();
    return to;
  }
  Floats Read(const float* from, std::size_t count) {
    Floats numbers(count);
    device_->CopyOut(Stream::kMain, numbers.data(), from, count * sizeof(float));
    Wait();
    return numbers;
  }

  void ExpectNear(const float* got_at, const std::vector<double>& expected,
                  const std::string& what) {
    const Floats got = Read(got_at, expected.size());
    double largest = 1e-6;
    for (const double value : expected) largest = std::max(largest, std::abs(value));
    for (std::size_t i = 0; i < expected.size(); ++i)
      ASSERT_NEAR(got[i], expected[i], kTolerance * largest) << what << ", number " << i;
  }

 private:
  const std::shared_ptr<Device> device_;
  const DeviceEventHolder done_;
  std::vector<void*> blocks_;
};

struct Product {
  int rows, columns, depth;
};

TEST_F(AnyDevice, MultipliesEveryShapeTransposedOrNotAndAddsToWhatIsThere) {
  for (const Product& p : {Product{1, 1, 1}, {1, 64, 4}, {33, 7, 64}, {256, 2, 65}, {31, 257, 129}})
    for (const bool a_transposed : {false, true})
      for (const bool b_transposed : {false, true})
        for (const bool accumulate : {false, true}) {
          const Floats a = Normals(static_cast<std::size_t>(p.rows) * p.depth, 1);
          const Floats b = Normals(static_cast<std::size_t>(p.depth) * p.columns, 2);
          const Floats before = Normals(static_cast<std::size_t>(p.rows) * p.columns, 3);
          std::vector<double> expected(before.size(), 0.0);
          for (int row = 0; row < p.rows; ++row)
            for (int column = 0; column < p.columns; ++column) {
              double& sum = expected[static_cast<std::size_t>(row) * p.columns + column];
              if (accumulate) sum = before[static_cast<std::size_t>(row) * p.columns + column];
              for (int i = 0; i < p.depth; ++i)
                sum += double{a[a_transposed ? i * p.rows + row : row * p.depth + i]} *
                       b[b_transposed ? column * p.depth + i : i * p.columns + column];
            }
          float* const c = Put(before);
          device()->Multiply(Stream::kMain, {.rows = p.rows,
                                             .columns = p.columns,
                                             .depth = p.depth,
                                             .a = Put(a),
                                             .a_stride = a_transposed ? p.rows : p.depth,
                                             .a_transposed = a_transposed,
                                             .b = Put(b),
                                             .b_stride = b_transposed ? p.depth : p.columns,
                                             .b_transposed = b_transposed,
                                             .c = c,
                                             .c_stride = p.columns,
                                             .accumulate = accumulate});
          ExpectNear(c, expected,
                     std::to_string(p.rows) + " x " + std::to_string(p.columns) + " x " +
                         std::to_string(p.depth) + (a_transposed ? ", a transposed" : "") +
                         (b_transposed ? ", b transposed" : "") + (accumulate ? ", added" : ""));
        }
}

TEST_F(AnyDevice, MultipliesRowsThatLieApart) {
  const Floats a = Normals(8 * 20, 1), b = Normals(16 * 30, 2), zeros(8 * 40, 0.0f);
  float* const c = Put(zeros);
  device()->Multiply(Stream::kMain, {.rows = 8,
                                     .columns = 24,
                                     .depth = 16,
                                     .a = Put(a),
                                     .a_stride = 20,
                                     .b = Put(b),
                                     .b_stride = 30,
                                     .c = c,
                                     .c_stride = 40});
  std::vector<double> expected(zeros.size(), 0.0);
  for (int row = 0; row < 8; ++row)
    for (int column = 0; column < 24; ++column)
      for (int i = 0; i < 16; ++i)
        expected[row * 40 + column] += double{a[row * 20 + i]} * b[i * 30 + column];
  ExpectNear(c, expected, "rows apart");
}

/// A convolution whose three results are summed up in double.
struct Convolution {
  ConvolutionCall call;

  int OutHeight() const { return (call.height + 2 * call.padding - call.kernel) / call.stride + 1; }
  int OutWidth() const { return (call.width + 2 * call.padding - call.kernel) / call.stride + 1; }
  std::size_t inputs() const {
    return static_cast<std::size_t>(call.images) * call.height * call.width * call.channels;
  }
  std::size_t weights() const {
    return static_cast<std::size_t>(call.kernel) * call.kernel * call.channels * call.filters;
  }
  std::size_t outputs() const {
    return static_cast<std::size_t>(call.images) * OutHeight() * OutWidth() * call.filters;
  }

  /// For each product of the sums: the places of its output, input and weight.
  template <typename Visit>
  void ForEach(const Visit& visit) const {
    const ConvolutionCall& c = call;
    for (int n = 0; n < c.images; ++n)
      for (int oy = 0; oy < OutHeight(); ++oy)
        for (int ox = 0; ox < OutWidth(); ++ox)
          for (int ky = 0; ky < c.kernel; ++ky)
            for (int kx = 0; kx < c.kernel; ++kx) {
              const int y = oy * c.stride + ky - c.padding, x = ox * c.stride + kx - c.padding;
              if (y < 0 || x < 0 || y >= c.height || x >= c.width) continue;
              for (int i = 0; i < c.channels; ++i)
                for (int f = 0; f < c.filters; ++f)
                  visit(((n * OutHeight() + oy) * OutWidth() + ox) * c.filters + f,
                        ((n * c.height + y) * c.width + x) * c.channels + i,
                        ((ky * c.kernel + kx) * c.channels + i) * c.filters + f);
            }
  }
};

TEST_F(AnyDevice, ConvolvesForwardAndBackwardWithStridesAndPadding) {
  using Kind = ConvolutionCall::Kind;
  const auto shape = [](int images, int size, int channels, int filters, int kernel, int stride,
                        int padding) {
    ConvolutionCall call;
    call.images = images;
    call.height = call.width = size;
    call.channels = channels;
    call.filters = filters;
    call.kernel = kernel;
    call.stride = stride;
    call.padding = padding;
    return Convolution{call};
  };
  for (Convolution one :
       {shape(2, 20, 4, 32, 8, 4, 0), shape(3, 9, 32, 64, 4, 2, 0), shape(2, 7, 64, 64, 3, 1, 0),
        shape(2, 10, 3, 16, 3, 1, 1), shape(1, 6, 1, 5, 1, 1, 0)}) {
    const Floats input = Normals(one.inputs(), 1), weight = Normals(one.weights(), 2),
                 output = Normals(one.outputs(), 3);
    for (const Kind kind : {Kind::kForward, Kind::kInputGradient, Kind::kWeightGradient}) {
      ConvolutionCall call = one.call;
      call.kind = kind;
      call.input = Put(input);
      call.weight = Put(weight);
      call.output = Put(output);
      device()->Convolve(Stream::kMain, call);
      std::vector<double> expected(kind == Kind::kForward         ? one.outputs()
                                   : kind == Kind::kInputGradient ? one.inputs()
                                                                  : one.weights());
      one.ForEach([&](int o, int i, int w) {
        if (kind == Kind::kForward) expected[o] += double{input[i]} * weight[w];
        if (kind == Kind::kInputGradient) expected[i] += double{output[o]} * weight[w];
        if (kind == Kind::kWeightGradient) expected[w] += double{output[o]} * input[i];
      });
      const void* const result = kind == Kind::kForward         ? call.output
                                 : kind == Kind::kInputGradient ? call.input
                                                                : call.weight;
      ExpectNear(static_cast<const float*>(result), expected,
                 std::to_string(one.call.kernel) + " x " + std::to_string(one.call.kernel) +
                     ", kind " + std::to_string(static_cast<int>(kind)));
    }
  }
}

TEST_F(AnyDevice, ReplaysAGraphOnWhatTheMemoryHoldsThen) {
  float* const sum = Put({1.0f, 2.0f, 3.0f});
  float* const step = Put({10.0f, 20.0f, 30.0f});
  device()->BeginGraph(Stream::kMain);
  device()->Launch(Stream::kMain, Grid::For(3),
                   AddNumbersCall{.a = sum, .b = step, .sum = sum, .count = 3});
  const DeviceGraph graph = device()->EndGraph(Stream::kMain);
  ASSERT_GE(graph, 0);
  EXPECT_EQ(Read(sum, 3), (Floats{1.0f, 2.0f, 3.0f})) << "recording runs nothing";
  device()->Replay(Stream::kMain, graph);
  device()->ClearMemory(Stream::kMain, step, 2 * sizeof(float));
  device()->Replay(Stream::kMain, graph);
  EXPECT_EQ(Read(sum, 3), (Floats{11.0f, 22.0f, 63.0f}));
  device()->DropGraph(graph);
}

TEST_F(AnyDevice, LetsAStreamWaitForTheOther) {
  constexpr std::size_t kCount = 1 << 16;
  const Floats ones(kCount, 1.0f);
  float* const sum = Put(Floats(kCount, 0.0f));
  float* const copied = Put(Floats(kCount, 0.0f));
  float* const step = Put(ones);
  for (int i = 0; i < 8; ++i)
    device()->Launch(Stream::kMain, Grid::For(kCount),
                     AddNumbersCall{.a = sum, .b = step, .sum = sum, .count = kCount});
  {
    const DeviceEventHolder added(device());  // given back while it is waited for
    device()->Record(Stream::kMain, added.get());
    device()->WaitFor(Stream::kCopy, added.get());
  }
  device()->CopyWithin(Stream::kCopy, copied, sum, kCount * sizeof(float));
  Wait(Stream::kCopy);
  EXPECT_EQ(Read(copied, kCount), Floats(kCount, 8.0f));
}

}  // namespace
}  // namespace murmurate
