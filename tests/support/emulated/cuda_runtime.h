// A runtime of CUDA for tests: memory is the host's, and there is one stream, whose work is done at
// once or, while it is held up, when somebody waits for it. Tests tell it by the functions at the
// end, and look at what was asked of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <functional>

extern "C" int PyGILState_Check();

using cudaStream_t = void*;
using cudaHostFn_t = void (*)(void*);

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorMemoryAllocation = 2,
  cudaErrorLaunchFailure = 719,
  cudaErrorNotReady = 600,
};
enum cudaStreamCaptureMode { cudaStreamCaptureModeGlobal, cudaStreamCaptureModeRelaxed };
enum cudaStreamCaptureStatus { cudaStreamCaptureStatusNone, cudaStreamCaptureStatusActive };
constexpr unsigned cudaEventDisableTiming = 2;
constexpr unsigned cudaHostAllocPortable = 1, cudaHostAllocMapped = 2;

namespace emulated {

// What tests ask for, by its number.
enum Count { kEvents, kBlocks, kRecorded, kWaited, kWaitedWithLock, kLaunched, kCounts };

struct Device {
  std::deque<std::function<void()>> queue;
  bool is_held = false, is_capturing = false;
  bool launches_fail = false, allocations_fail = false;
  std::int64_t counts[kCounts] = {};

  void enqueue(std::function<void()> work) {
    queue.push_back(std::move(work));
    while (!is_held && !queue.empty()) do_next();
  }
  void do_next() {
    const std::function<void()> work = std::move(queue.front());
    queue.pop_front();
    work();
  }
};

inline Device& device() {
  static Device only;
  return only;
}

// `told`: how often it was recorded; `passed`: how often the device came by.
struct Event {
  std::int64_t told = 0, passed = 0;
};

}  // namespace emulated

using cudaEvent_t = emulated::Event*;

inline const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorMemoryAllocation ? "out of memory" : "unspecified launch failure";
}
inline cudaError_t cudaGetLastError() { return cudaSuccess; }
inline cudaError_t cudaGetDevice(int* device) { return *device = 0, cudaSuccess; }
inline cudaError_t cudaSetDevice(int) { return cudaSuccess; }
inline cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode*) {
  return cudaSuccess;
}
inline cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
  *status = emulated::device().is_capturing ? cudaStreamCaptureStatusActive
                                            : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}

inline cudaError_t cudaHostAlloc(void** memory, std::size_t size, unsigned) {
  if (emulated::device().allocations_fail) return cudaErrorMemoryAllocation;
  ++emulated::device().counts[emulated::kBlocks];
  *memory = std::aligned_alloc(64, (size + 63) / 64 * 64);
  return cudaSuccess;
}
inline cudaError_t cudaHostGetDevicePointer(void** there, void* here, unsigned) {
  return *there = here, cudaSuccess;
}
inline cudaError_t cudaFreeHost(void* memory) {
  --emulated::device().counts[emulated::kBlocks];
  std::free(memory);
  return cudaSuccess;
}

inline cudaError_t cudaLaunchHostFunc(cudaStream_t, cudaHostFn_t function, void* data) {
  if (emulated::device().launches_fail) return cudaErrorLaunchFailure;
  ++emulated::device().counts[emulated::kLaunched];
  emulated::device().enqueue([function, data] { function(data); });
  return cudaSuccess;
}

inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  ++emulated::device().counts[emulated::kEvents];
  *event = new emulated::Event;
  return cudaSuccess;
}
inline cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t) {
  ++emulated::device().counts[emulated::kRecorded];
  ++event->told;
  emulated::device().enqueue([event] { ++event->passed; });
  return cudaSuccess;
}
inline cudaError_t cudaEventQuery(cudaEvent_t event) {
  return event->passed == event->told ? cudaSuccess : cudaErrorNotReady;
}
inline cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  if (cudaEventQuery(event) == cudaErrorNotReady) {
    ++emulated::device().counts[emulated::kWaited];
    emulated::device().counts[emulated::kWaitedWithLock] += PyGILState_Check();
  }
  while (cudaEventQuery(event) == cudaErrorNotReady) emulated::device().do_next();
  return cudaSuccess;
}
inline cudaError_t cudaEventDestroy(cudaEvent_t event) {
  --emulated::device().counts[emulated::kEvents];
  delete event;
  return cudaSuccess;
}

// For tests, which call these in the library.
#define EMULATED_EXPORT extern "C" __attribute__((used, visibility("default"))) inline

EMULATED_EXPORT void emulated_hold(bool is_held) {
  emulated::device().is_held = is_held;
  while (!is_held && !emulated::device().queue.empty()) emulated::device().do_next();
}
EMULATED_EXPORT void emulated_capture(bool is_capturing) {
  emulated::device().is_capturing = is_capturing;
}
EMULATED_EXPORT void emulated_fail(bool launches, bool allocations) {
  emulated::device().launches_fail = launches;
  emulated::device().allocations_fail = allocations;
}
EMULATED_EXPORT std::int64_t emulated_count(int which) { return emulated::device().counts[which]; }
