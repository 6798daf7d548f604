// A runtime of CUDA for tests: memory is the host's, and the work of a stream is done at once or,
// while the device is held up, when somebody waits for that stream. Tests tell it by the functions
// at the end, and look at what was asked of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <utility>

extern "C" int PyGILState_Check();

using cudaStream_t = void*;
using cudaHostFn_t = void (*)(void*);

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInvalidResourceHandle = 400,
  cudaErrorLaunchFailure = 719,
  cudaErrorNotReady = 600,
  cudaErrorCapturedEvent = 907,
};
enum cudaStreamCaptureMode { cudaStreamCaptureModeGlobal, cudaStreamCaptureModeRelaxed };
enum cudaStreamCaptureStatus { cudaStreamCaptureStatusNone, cudaStreamCaptureStatusActive };
constexpr unsigned cudaEventDisableTiming = 2;
constexpr unsigned cudaHostAllocPortable = 1, cudaHostAllocMapped = 2;

namespace emulated {

// What tests ask for, by its number.
enum Count { kEvents, kBlocks, kRecorded, kWaited, kWaitedWithLock, kLaunched, kAsked, kCounts };

// What a stream was told and has not done. It outlives the stream, as the work does.
using Queue = std::deque<std::function<void()>>;

inline void do_next(Queue& queue) {
  const std::function<void()> work = std::move(queue.front());
  queue.pop_front();
  work();
}

struct Device {
  cudaStream_t current_stream = nullptr;  // of torch
  std::map<cudaStream_t, std::shared_ptr<Queue>> streams{{nullptr, std::make_shared<Queue>()}};
  std::deque<std::shared_ptr<Queue>> destroyed;
  cudaStream_t captured = nullptr;
  bool is_held = false, is_capturing = false;
  std::int64_t launches_left = -1;  // before they fail; -1: they do not
  bool allocations_fail = false, records_fail = false;
  void (*meanwhile)() = nullptr;  // once, what others do while somebody waits
  std::int64_t counts[kCounts] = {};

  bool captures(cudaStream_t stream) const { return is_capturing && stream == captured; }

  // None of a stream that does not exist.
  std::shared_ptr<Queue> queue_of(cudaStream_t stream) const {
    const auto found = streams.find(stream);
    return found == streams.end() ? nullptr : found->second;
  }

  void finish() {
    for (const auto& [_, queue] : streams) {
      while (!queue->empty()) do_next(*queue);
    }
    for (const auto& queue : destroyed) {
      while (!queue->empty()) do_next(*queue);
    }
    destroyed.clear();
  }

  cudaError_t tell(cudaStream_t stream, std::function<void()> work) {
    const auto queue = queue_of(stream);
    if (queue == nullptr) return cudaErrorInvalidResourceHandle;
    queue->push_back(std::move(work));
    if (!is_held) finish();
    return cudaSuccess;
  }
};

inline Device& device() {
  static Device only;
  return only;
}

// `told`: how often it was recorded; `passed`: the last of these that a stream came by; `queue`: of
// the stream that was told last.
struct Event {
  std::int64_t told = 0, passed = 0;
  std::shared_ptr<Queue> queue;
  bool is_captured = false;  // a graph has it, and nobody can ask about it

  bool is_ready() const { return passed == told; }
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
inline cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  const emulated::Device& device = emulated::device();
  if (device.queue_of(stream) == nullptr) return cudaErrorInvalidResourceHandle;
  *status = device.captures(stream) ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
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

inline cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  std::int64_t& left = emulated::device().launches_left;
  if (left == 0) return cudaErrorLaunchFailure;
  if (left > 0) --left;
  ++emulated::device().counts[emulated::kLaunched];
  return emulated::device().tell(stream, [function, data] { function(data); });
}

inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  ++emulated::device().counts[emulated::kEvents];
  *event = new emulated::Event;
  return cudaSuccess;
}
inline cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  emulated::Device& device = emulated::device();
  if (device.records_fail) return cudaErrorLaunchFailure;
  event->is_captured = device.captures(stream);
  if (event->is_captured) return cudaSuccess;
  event->queue = device.queue_of(stream);
  if (event->queue == nullptr) return cudaErrorInvalidResourceHandle;
  ++device.counts[emulated::kRecorded];
  const std::int64_t number = ++event->told;
  return device.tell(stream, [event, number] { event->passed = number; });
}
inline cudaError_t cudaEventQuery(cudaEvent_t event) {
  ++emulated::device().counts[emulated::kAsked];
  if (event->is_captured) return cudaErrorCapturedEvent;
  return event->is_ready() ? cudaSuccess : cudaErrorNotReady;
}
inline cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  if (event->is_captured) return cudaErrorCapturedEvent;
  if (event->is_ready()) return cudaSuccess;
  ++emulated::device().counts[emulated::kWaited];
  emulated::device().counts[emulated::kWaitedWithLock] += PyGILState_Check();
  if (const auto others = std::exchange(emulated::device().meanwhile, nullptr)) others();
  while (!event->is_ready()) emulated::do_next(*event->queue);
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
  if (!is_held) emulated::device().finish();
}
EMULATED_EXPORT void emulated_capture(bool is_capturing, void* stream) {
  emulated::device().is_capturing = is_capturing;
  emulated::device().captured = stream;
}
EMULATED_EXPORT void emulated_fail(std::int64_t launches_left, bool allocations, bool records) {
  emulated::device().launches_left = launches_left;
  emulated::device().allocations_fail = allocations;
  emulated::device().records_fail = records;
}
// Makes a stream torch's current one; the first time it makes the stream.
EMULATED_EXPORT void emulated_use(void* stream) {
  emulated::Device& device = emulated::device();
  auto& queue = device.streams[stream];
  if (queue == nullptr) queue = std::make_shared<emulated::Queue>();
  device.current_stream = stream;
}
EMULATED_EXPORT void emulated_destroy(void* stream) {
  emulated::Device& device = emulated::device();
  device.destroyed.push_back(device.streams.at(stream));
  device.streams.erase(stream);
}
EMULATED_EXPORT void emulated_meanwhile(void (*others)()) { emulated::device().meanwhile = others; }
EMULATED_EXPORT std::int64_t emulated_count(int which) { return emulated::device().counts[which]; }
