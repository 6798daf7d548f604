// The device that slots lie on: one of CUDA, or the host where a host compiler builds.
#pragma once

#include <dlpack/dlpack.h>

#include <stdexcept>
#include <string>

// Tests emulate a device with a runtime of their own, whose memory is the host's.
#if defined(__CUDACC__) || defined(ULLAGE_EMULATED)
#define ULLAGE_HAS_RUNTIME
#include <cuda_runtime.h>
#endif

namespace ullage {

#ifdef __CUDACC__
constexpr DLDeviceType kDevice = kDLCUDA;

// The stream that torch's next operation would go to.
inline cudaStream_t current_stream(const DLPackExchangeAPI& interface, int device) {
  void* stream = nullptr;
  if (interface.current_work_stream(kDevice, device, &stream) != 0) {
    throw std::runtime_error("torch has no current stream");
  }
  return static_cast<cudaStream_t>(stream);
}
#else
constexpr DLDeviceType kDevice = kDLCPU;

#ifdef ULLAGE_EMULATED
inline cudaStream_t current_stream(const DLPackExchangeAPI&, int) {
  return emulated::device().current_stream;
}
#else
inline void* current_stream(const DLPackExchangeAPI&, int) { return nullptr; }
#endif
#endif

#ifdef ULLAGE_HAS_RUNTIME
using Stream = cudaStream_t;

inline void require(cudaError_t error) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // or torch would find it after its next launch
  throw std::runtime_error(std::string("CUDA: ") + cudaGetErrorString(error));
}

// Whether a graph records what the stream is told.
inline bool is_capturing(Stream stream) {
  cudaStreamCaptureStatus status;
  require(cudaStreamIsCapturing(stream, &status));
  return status != cudaStreamCaptureStatusNone;
}

// Makes a device the current one, and takes that back.
class OnDevice {
 public:
  explicit OnDevice(int device) : device_(device) {
    require(cudaGetDevice(&before_));
    if (before_ != device_) require(cudaSetDevice(device_));
  }
  ~OnDevice() {
    if (before_ != device_) cudaSetDevice(before_);
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int before_, device_;
};
#else
using Stream = void*;

inline bool is_capturing(Stream) { return false; }

class OnDevice {
 public:
  explicit OnDevice(int) {}
};
#endif

}  // namespace ullage
