// Sources on the host for slots on a device: packed into pinned memory, which the kernel reads
// where it lies, so that nothing is sent before it.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include <ullage/layout.cuh>
#include <ullage/ring.cuh>

namespace ullage {

// Where the sources of one runner wait for its device.
class Stage {
 public:
  // `is_lasting`: see LastingStreams.
  Stage(int device, std::function<bool(Stream)> is_lasting)
      : device_(device), lasting_(std::move(is_lasting)) {}

  // The smallest whose halves hold kLoads of `size` bytes. Each is twice the one before it or
  // larger, and none is given up, since loads hold on to theirs: together they are no more than
  // twice the largest.
  Ring& ring(std::size_t size) {
    for (const auto& ring : rings_) {
      if (ring->size() >= kLoads * size) return *ring;
    }
    std::size_t whole = kSmallestHalf;
    while (whole < kLoads * size) whole *= 2;
    const OnDevice guard(device_);
    const BesideCaptures relaxed;
    rings_.push_back(std::make_unique<Ring>(device_, whole, lasting_));
    return *rings_.back();
  }

 private:
  int device_;
  LastingStreams lasting_;
  std::vector<std::unique_ptr<Ring>> rings_;
};

// One axis of a source.
struct Along {
  std::int64_t size, stride;
};

// Copies a source of any strides into a block, where it is dense. `step`: which reads it there;
// `offset`: of its place, in bytes.
class Packing {
 public:
  Packing(const DLTensor& source, int step, std::size_t offset)
      : step(step), offset(offset), row_(bytes_of(source.dtype)) {
    bool is_dense = true;
    for (int i = source.ndim - 1; i >= 0; --i) {
      const std::int64_t size = source.shape[i];
      const std::int64_t stride = source.strides[i] * bytes_of(source.dtype);
      bytes_ *= size;
      if (size == 1) continue;
      is_dense = is_dense && stride == row_;
      if (is_dense) {
        row_ *= size;
      } else {
        outer_.insert(outer_.begin(), {size, stride});
      }
    }
    bytes_ *= bytes_of(source.dtype);
  }

  const int step;
  const std::size_t offset;

  // The first place behind it that is aligned for what the kernel moves at once.
  std::size_t next_offset() const {
    return (offset + bytes_ + kCellBytes - 1) / kCellBytes * kCellBytes;
  }

  void pack(char* block, const char* from) const {
    if (bytes_ > 0) copy(0, block + offset, from);
  }

 private:
  // Everything inside of the axes before `first`; gives where the next of them goes.
  char* copy(std::size_t first, char* to, const char* from) const {
    if (first == outer_.size()) {
      std::memcpy(to, from, row_);
      return to + row_;
    }
    for (std::int64_t i = 0; i < outer_[first].size; ++i) {
      to = copy(first + 1, to, from + i * outer_[first].stride);
    }
    return to;
  }

  std::int64_t row_, bytes_ = 1;
  std::vector<Along> outer_;
};

// A source as it lies in a block.
class Packed {
 public:
  explicit Packed(const DLTensor& source) : tensor_(source), strides_(source.ndim, 1) {
    for (int i = source.ndim - 2; i >= 0; --i) {
      strides_[i] = strides_[i + 1] * std::max<std::int64_t>(source.shape[i + 1], 1);
    }
    tensor_.strides = strides_.data();
  }
  Packed(const Packed&) = delete;
  Packed& operator=(const Packed&) = delete;

  const DLTensor& tensor() const { return tensor_; }

 private:
  DLTensor tensor_;
  std::vector<std::int64_t> strides_;
};

}  // namespace ullage
