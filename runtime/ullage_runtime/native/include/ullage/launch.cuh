// Launching the kernel on a stream. Compiled by a host compiler, a launch is a function of the host
// that loops over all threads, and host memory is the device: that is how tests run the kernel
// without one.
#pragma once

#include <algorithm>
#include <iterator>
#include <memory>

#include <ullage/device.cuh>
#include <ullage/layout.cuh>

namespace ullage {

// What the arguments of a kernel may take: since CUDA 12.1 more than the four kilobytes before.
#if defined(CUDART_VERSION) && CUDART_VERSION < 12010
constexpr std::size_t kArgumentBytes = 4096;
#else
constexpr std::size_t kArgumentBytes = 32764;
#endif

#ifdef __CUDACC__
template <class Forms, int kOuter, int kCapacity>
void launch(const Launch<kOuter, kCapacity>& argument, std::uint32_t blocks, Stream stream) {
  void* arguments[] = {const_cast<Launch<kOuter, kCapacity>*>(&argument)};
  const auto kernel = reinterpret_cast<const void*>(&load_slots<Forms, kOuter, kCapacity>);
  require(cudaLaunchKernel(kernel, dim3(blocks), dim3(kThreads), arguments, 0, stream));
}

// Loads the code, which a stream that is being captured would not allow.
template <class Forms, int kOuter, int kCapacity>
void load_code() {
  cudaFuncAttributes attributes;
  const auto kernel = reinterpret_cast<const void*>(&load_slots<Forms, kOuter, kCapacity>);
  require(cudaFuncGetAttributes(&attributes, kernel));
}
#else
template <class Forms, int kOuter, int kCapacity>
struct EmulatedLaunch {
  Launch<kOuter, kCapacity> argument;
  std::uint32_t blocks;

  static void run(void* data) {
    const std::unique_ptr<EmulatedLaunch> own(static_cast<EmulatedLaunch*>(data));
    for (std::uint32_t block = 0; block < own->blocks; ++block) {
      for (unsigned thread = 0; thread < kThreads; ++thread) {
        write_cells<Forms>(own->argument, block, thread);
      }
    }
  }
};

template <class Forms, int kOuter, int kCapacity>
void launch(const Launch<kOuter, kCapacity>& argument, std::uint32_t blocks, Stream stream) {
  using Emulated = EmulatedLaunch<Forms, kOuter, kCapacity>;
  auto own = std::make_unique<Emulated>(Emulated{argument, blocks});
  require(cudaLaunchHostFunc(stream, &Emulated::run, own.get()));
  own.release();  // it is the device's now: see run
}

template <class Forms, int kOuter, int kCapacity>
void load_code() {}
#endif

constexpr int kSmallest = 8;

// How many steps one launch of a runner can have: the smallest power of two that is enough for
// all of its slots, or the largest whose steps fit the arguments.
template <class Table, int kOuter>
constexpr int most_steps() {
  int steps = kSmallest;
  constexpr std::size_t kBytes = sizeof(Launch<kOuter, 2>) / 2;  // of one of them
  while (steps < Table::kSlots && 2 * steps * kBytes <= kArgumentBytes) {
    steps *= 2;
  }
  return steps;
}

// Kernels that differ in how many steps their argument has room for, since a launch copies it.
template <class Table>
class Kernels {
 public:
  static constexpr int kOuter = Table::dimensions() - 1;
  static constexpr int kMost = most_steps<Table, kOuter>();
  using Forms = typename Table::Forms;
  using OneStep = Step<kOuter>;

  // Writes all steps, each from its own address, in one launch unless they do not fit one.
  static void run(const OneStep* steps, const char* const* from, int count, Stream stream) {
    for (int begin = 0; begin < count; begin += kMost) {
      run_some<kSmallest>(steps + begin, from + begin, std::min(count - begin, kMost), stream);
    }
  }

  static void load_all_code() { load_code_from<kSmallest>(); }

 private:
  template <int kCapacity>
  static void run_some(const OneStep* steps, const char* const* from, int count, Stream stream) {
    if constexpr (kCapacity < kMost) {
      if (count > kCapacity) return run_some<2 * kCapacity>(steps, from, count, stream);
    }
    Launch<kOuter, kCapacity> argument;
    std::uint32_t blocks = 0;
    for (int i = 0; i < count; ++i) {
      OneStep& step = argument.steps[i];
      step = steps[i];
      step.from = from[i];
      argument.first_blocks[i] = blocks;
      blocks += step.blocks;
    }
    std::fill(argument.first_blocks + count, std::end(argument.first_blocks), kNever);
    launch<Forms>(argument, blocks, stream);
  }

  template <int kCapacity>
  static void load_code_from() {
    load_code<Forms, kOuter, kCapacity>();
    if constexpr (kCapacity < kMost) load_code_from<2 * kCapacity>();
  }
};

}  // namespace ullage
