// All kernels of a device, by name: X(Name) stands for the kernel NameKernel of
// server/compute/device/kernels, whose argument is the struct NameCall of
// server/compute/device/calls. A new kernel is a line here, its struct and its body.
#pragma once

#include <cstdint>

#define MURMURATE_DEVICE_KERNELS(X) \
  X(GatherPass)                     \
  X(GatherLanes)                    \
  X(BlockFilters)                   \
  X(BiasActivation)                 \
  X(EvaluateHead)                   \
  X(PolicyLoss)                     \
  X(LabelLoss)                      \
  X(FinishLoss)                     \
  X(CopyKeptRows)                   \
  X(ChoiceLoss)                     \
  X(FinishReplay)                   \
  X(MoveTargets)                    \
  X(DrawNumbers)                    \
  X(CriticLoss)                     \
  X(PolicyValue)                    \
  X(NumbersGradient)                \
  X(FinishSoft)                     \
  X(RecordRows)                     \
  X(FinishRecord)                   \
  X(TraceReturns)                   \
  X(ScanReturns)                    \
  X(MeasureRows)                    \
  X(MeasureSpread)                  \
  X(NormalizeAdvantages)            \
  X(MeasureChange)                  \
  X(FinishChange)                   \
  X(GradientNorm)                   \
  X(StepParameters)                 \
  X(ShortenStep)                    \
  X(FillNumbers)                    \
  X(ShareGradient)                  \
  X(CountOwnNorms)                  \
  X(DivideByRanks)                  \
  X(SumObservations)                \
  X(SquareObservations)             \
  X(MergeObservations)              \
  X(Activate)                       \
  X(ActivationGradient)             \
  X(AddNumbers)                     \
  X(ConvertNumbers)                 \
  X(CopyColumns)                    \
  X(ColumnSums)                     \
  X(FinishSums)                     \
  X(NormRows)                       \
  X(NormRowsSums)                   \
  X(NormRowsGradient)               \
  X(Pool)                           \
  X(PoolGradient)                   \
  X(RecurrentStart)                 \
  X(LstmStep)                       \
  X(GruStep)                        \
  X(LstmStepBack)                   \
  X(GruStepBack)                    \
  X(RecurrentEnd)                   \
  X(SmallForward)                   \
  X(SmallBackward)                  \
  X(SmallWeights)                   \
  X(SmallFinish)                    \
  X(Transpose)

namespace murmurate {

enum class KernelId : std::uint16_t {
#define MURMURATE_KERNEL_ID(Name) k##Name,
  MURMURATE_DEVICE_KERNELS(MURMURATE_KERNEL_ID)
#undef MURMURATE_KERNEL_ID
};

}  // namespace murmurate
