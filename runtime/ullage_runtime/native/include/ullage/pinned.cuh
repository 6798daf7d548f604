// Memory of the host that the device reads where it lies, and events that say when it has.
#pragma once

#include <cstddef>
#include <memory>

#include <ullage/device.cuh>
#include <ullage/python.cuh>

namespace ullage {

#ifdef ULLAGE_HAS_RUNTIME
// Asks the driver for what a capture on another thread would forbid, and be broken by. None of it
// is work for a stream. Whoever gives memory back when a process ends may find no driver any more.
class BesideCaptures {
 public:
  BesideCaptures() : is_exchanged_(cudaThreadExchangeStreamCaptureMode(&mode_) == cudaSuccess) {}
  ~BesideCaptures() {
    if (is_exchanged_) cudaThreadExchangeStreamCaptureMode(&mode_);
  }
  BesideCaptures(const BesideCaptures&) = delete;
  BesideCaptures& operator=(const BesideCaptures&) = delete;

 private:
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
  bool is_exchanged_;
};

// When a stream of the device that is current at its making is done with what it was told so far.
class Event {
 public:
  Event() { require(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming)); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(Stream stream) { require(cudaEventRecord(event_, stream)); }

  // Of a thread that asks beside captures.
  bool is_reached() const {
    const cudaError_t state = cudaEventQuery(event_);
    if (state != cudaErrorNotReady) return require(state), true;
    cudaGetLastError();  // or the next to ask would take this for an error
    return false;
  }

  void wait() const {
    const BesideCaptures relaxed;
    const WithoutLock others;
    require(cudaEventSynchronize(event_));
  }

  // The same of something that is given up, where nobody is left to hear of errors.
  void wait_at_the_end() const { cudaEventSynchronize(event_); }

 private:
  cudaEvent_t event_;
};

class PinnedMemory {
 public:
  explicit PinnedMemory(std::size_t size) {
    require(cudaHostAlloc(&host_, size, cudaHostAllocPortable | cudaHostAllocMapped));
    const cudaError_t error = cudaHostGetDevicePointer(&device_, host_, 0);
    if (error == cudaSuccess) return;
    cudaFreeHost(host_);
    require(error);
  }
  ~PinnedMemory() { cudaFreeHost(host_); }
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  char* host() const { return static_cast<char*>(host_); }
  const char* device() const { return static_cast<const char*>(device_); }

 private:
  void *host_ = nullptr, *device_ = nullptr;
};
#else
class BesideCaptures {
 public:
  BesideCaptures() {}
};

class Event {
 public:
  void record(Stream) {}
  bool is_reached() const { return true; }
  void wait() const {}
  void wait_at_the_end() const {}
};

class PinnedMemory {
 public:
  explicit PinnedMemory(std::size_t size) : bytes_(new char[size]) {}

  char* host() const { return bytes_.get(); }
  const char* device() const { return bytes_.get(); }

 private:
  std::unique_ptr<char[]> bytes_;
};
#endif

}  // namespace ullage
