#include "server/network/network_share.h"

#include <algorithm>
#include <cstring>

#include "shared/model/parameter_layout.h"

namespace murmurate {

int NetworkShare::MostRows(const Cutting& cutting, int index) {
  if (cutting.longest == 1) return (cutting.max_rows - index + cutting.shares - 1) / cutting.shares;
  int most = 0;
  for (int count = index + 1; count <= cutting.max_rows; ++count) {
    const int mine = (count - index + cutting.shares - 1) / cutting.shares;
    most = std::max(most, mine * std::min(cutting.longest, cutting.max_rows / count));
  }
  return most;
}

NetworkShare::NetworkShare(const ModelSpec& spec, const ParameterLayout& layout,
                           const Cutting& cutting, int index)
    : index_(index),
      shares_(cutting.shares),
      row_bytes_(ObservationLayout(StackedObservation(spec)).row_bytes()),
      outputs_(ActionLayout(spec.spaces.action, spec.continuous).outputs()),
      pass_(spec, layout, std::max(1, MostRows(cutting, index))),
      states_(pass_.state_floats()),
      gradient_(index > 0 ? layout.trained_count() : 0) {
  if (states_ == 0 || shares_ == 1) return;
  const std::size_t rows = MostRows(cutting, index);
  observations_ = AlignedFloats(rows * row_bytes_ / sizeof(float));
  for (AlignedFloats* column : {&logits_, &d_logits_}) *column = AlignedFloats(rows * outputs_);
  for (AlignedFloats* column : {&values_, &d_values_}) *column = AlignedFloats(rows);
  first_.resize(rows);
}

void NetworkShare::Cut(const Sequences& all) {
  const int each = all.count / shares_, odd = all.count % shares_;
  all_ = all.count;
  begin_ = index_ * each + std::min(index_, odd);
  mine_ = all;
  mine_.count = each + (index_ < odd ? 1 : 0);
  if (mine_.first != nullptr && !gathers()) mine_.first += begin_;
  if (mine_.state0 != nullptr) mine_.state0 += begin_ * states_;
  if (mine_.state_out != nullptr) mine_.state_out += begin_ * states_;
}

/// Calls visit(a row of all, a row of this share, how many) for its rows of each step.
template <typename Visit>
void NetworkShare::EachStep(Visit visit) const {
  for (std::size_t step = 0; step < static_cast<std::size_t>(mine_.steps); ++step)
    visit(step * all_ + begin_, step * mine_.count, static_cast<std::size_t>(mine_.count));
}

void NetworkShare::GatherSequences(const void* observations) {
  EachStep([&](std::size_t from, std::size_t to, std::size_t rows) {
    std::memcpy(reinterpret_cast<std::byte*>(observations_.data()) + to * row_bytes_,
                static_cast<const std::byte*>(observations) + from * row_bytes_, rows * row_bytes_);
    if (mine_.first != nullptr) std::copy_n(mine_.first + from, rows, first_.data() + to);
  });
  if (mine_.first != nullptr) mine_.first = first_.data();
}

void NetworkShare::Forward(const float* parameters, const void* observations, int rows,
                           float* logits, float* values, const Sequences* sequences) {
  Cut(sequences != nullptr ? *sequences : Sequences{1, rows, nullptr, nullptr, nullptr});
  if (!has_rows()) return;
  const int mine = mine_.steps * mine_.count;
  if (!gathers()) {
    pass_.Forward(parameters, static_cast<const std::byte*>(observations) + begin_ * row_bytes_,
                  mine, logits == nullptr ? nullptr : logits + begin_ * outputs_, values + begin_,
                  &mine_);
    return;
  }
  GatherSequences(observations);
  pass_.Forward(parameters, observations_.data(), mine,
                logits == nullptr ? nullptr : logits_.data(), values_.data(), &mine_);
  EachStep([&](std::size_t to, std::size_t from, std::size_t count) {
    std::copy_n(values_.data() + from, count, values + to);
    if (logits != nullptr)
      std::copy_n(logits_.data() + from * outputs_, count * outputs_, logits + to * outputs_);
  });
}

void NetworkShare::Backward(const float* parameters, const float* d_logits, const float* d_values,
                            float* gradient) {
  if (!has_rows()) return;
  if (!gathers()) {
    pass_.Backward(parameters, d_logits + begin_ * outputs_, d_values + begin_, gradient);
    return;
  }
  EachStep([&](std::size_t from, std::size_t to, std::size_t rows) {
    std::copy_n(d_values + from, rows, d_values_.data() + to);
    std::copy_n(d_logits + from * outputs_, rows * outputs_, d_logits_.data() + to * outputs_);
  });
  pass_.Backward(parameters, d_logits_.data(), d_values_.data(), gradient);
}

}  // namespace murmurate
