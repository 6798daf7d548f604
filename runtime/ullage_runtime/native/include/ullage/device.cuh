// The device that slots lie on: one of CUDA, or the host where a host compiler builds.
#pragma once

#include <dlpack/dlpack.h>

#include <stdexcept>
#include <string>

#ifdef __CUDACC__
#include <cuda_runtime.h>
#endif

namespace ullage {

#ifdef __CUDACC__
using Stream = cudaStream_t;
constexpr DLDeviceType kDevice = kDLCUDA;

inline void require(cudaError_t error) {
  if (error == cudaSuccess) return;
  throw std::runtime_error(std::string("CUDA: ") + cudaGetErrorString(error));
}

// The stream that torch's next operation would go to.
inline Stream current_stream(const DLPackExchangeAPI& interface, int device) {
  void* stream = nullptr;
  if (interface.current_work_stream(kDevice, device, &stream) != 0) {
    throw std::runtime_error("torch has no current stream");
  }
  return static_cast<Stream>(stream);
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
constexpr DLDeviceType kDevice = kDLCPU;

inline Stream current_stream(const DLPackExchangeAPI&, int) { return nullptr; }

class OnDevice {
 public:
  explicit OnDevice(int) {}
};
#endif

}  // namespace ullage
