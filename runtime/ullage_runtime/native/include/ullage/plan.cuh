// The load of one padded shape: its steps, and what the source of each of them has to be.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

// A host compiler builds what serves a CPU, unless it is told to go through the kernel.
#if defined(__CUDACC__) || defined(ULLAGE_EMULATED)
#include <ullage/launch.cuh>
#else
#include <ullage/rows.cuh>
#endif
#include <ullage/staging.cuh>

namespace ullage {

// Addresses [low, high) of an arena.
struct Range {
  std::uintptr_t low, high;
};

struct Place {
  int device;
  std::vector<Range> arenas;

  bool holds(const void* address) const {
    const auto number = reinterpret_cast<std::uintptr_t>(address);
    for (const Range& arena : arenas) {
      if (arena.low <= number && number < arena.high) return true;
    }
    return false;
  }
};

// What the first source of a slot was like. Its axes are in a list with those of others.
class Expected {
 public:
  // `step`: of the plan; -1 where the kernel does not copy the source. `staged`: whether it is on
  // the host, and has been read before anything is written; `axes`: the list, which it adds to.
  Expected(const DLTensor& source, const DLTensor& view, int step, bool staged,
           std::vector<Along>& axes)
      : step(step),
        staged(staged),
        first_(axes.size()),
        count_(source.ndim),
        head_(address_of(view)),
        device_(source.device),
        dtype_(source.dtype),
        is_like_head_(same(source.dtype, view.dtype)) {
    for (int i = 0; i < source.ndim; ++i) {
      axes.push_back({source.shape[i], source.strides[i]});
      is_empty_ = is_empty_ || source.shape[i] == 0;
      if (source.shape[i] > 1 && source.strides[i] != view.strides[i]) is_like_head_ = false;
    }
  }

  const int step;
  const bool staged;

  bool is_met_by(const DLTensor& source, const std::vector<Along>& axes) const {
    if (source.ndim != count_ || !same(source.dtype, dtype_)) return false;
    if (source.device.device_type != device_.device_type) return false;
    if (source.device.device_id != device_.device_id) return false;
    if (address_of(source) == nullptr && !is_empty_) return false;  // of tensors without data
    for (int i = 0; i < count_; ++i) {
      const Along& axis = axes[first_ + i];
      if (source.shape[i] != axis.size) return false;
      if (source.shape[i] > 1 && source.strides[i] != axis.stride) return false;
    }
    return true;
  }

  // Whether it is the head of its own slot: nothing to copy.
  bool is_in_place(const char* address) const { return is_like_head_ && address == head_; }

 private:
  std::size_t first_;
  int count_;
  const char* head_;
  DLDevice device_;
  DLDataType dtype_;
  bool is_like_head_, is_empty_ = false;
};

template <class Table>
class Plan {
 public:
  static constexpr int kOuter = Table::dimensions() - 1;

  // `slots`: how many will be added.
  Plan(const Place& place, std::size_t slots) : place_(place) {
    steps_.reserve(slots);
    expected_.reserve(slots);
    axes_.reserve(2 * slots);
  }

  void add(const SlotLoad& load) {
    int number = -1;
    if (load.staged) {
      number = add_staged(load);
    } else if (load.view->device.device_type == kDevice) {
      number = add_step(load);
    }
    if (load.source == nullptr) return;
    expected_.emplace_back(*load.source, *load.view, number, load.staged, axes_);
  }

  // Where sources on the host wait: to be called once all slots are added.
  void wait_in(Stage& stage) {
    if (packings_.empty()) return;
    staged_bytes_ = (packings_.back().next_offset() + kLineBytes - 1) / kLineBytes * kLineBytes;
    ring_ = &stage.ring(staged_bytes_);
  }

  // How many sources a call brings.
  std::ptrdiff_t sources() const { return static_cast<std::ptrdiff_t>(expected_.size()); }

  // Writes what the kernel writes; `describe(i, tensor)` tells of the source of that number, if
  // it can. False, with nothing written, if one cannot be told of, is not as expected, or lies in
  // an arena elsewhere than where it belongs. std::runtime_error while a graph is captured, if
  // some are on the host.
  template <class Describe, class FindStream>
  bool load(const Describe& describe, const FindStream& find) const {
    constexpr int kOnStack = 128;
    if (steps_.size() <= kOnStack) {
      const char* from[kOnStack];
      return load_from(from, describe, find);
    }
    std::vector<const char*> from(steps_.size());
    return load_from(from.data(), describe, find);
  }

 private:
  // The number of the step that writes a slot; -1 if there is nothing to write.
  int add_step(const SlotLoad& load) {
    const auto step = step_of<Table, kOuter>(load);
    if (!step) return -1;
    steps_.push_back(*step);
    return static_cast<int>(steps_.size()) - 1;
  }

  int add_staged(const SlotLoad& load) {
    const Packed packed(*load.source);
    SlotLoad from_block = load;
    from_block.source = &packed.tensor();
    const int number = add_step(from_block);
    const std::size_t offset = packings_.empty() ? 0 : packings_.back().next_offset();
    if (number >= 0) packings_.emplace_back(*load.source, number, offset);
    return number;
  }

  // Writes by sources that have been looked at: all of their addresses.
  void run(const char** from, Stream stream) const {
    Kernels<Table>::run(steps_.data(), from, static_cast<int>(steps_.size()), stream);
  }

  // The same where some are on the host.
  void run_staged(const char** from, Stream stream) const {
    const Block block = ring_->turn(staged_bytes_, stream);
    for (const Packing& each : packings_) {
      each.pack(block.host, from[each.step]);
      from[each.step] = block.device + each.offset;
    }
    try {
      run(from, stream);
    } catch (...) {  // some of it may be under way
      ring_->told();
      throw;
    }
    ring_->told();
  }

  template <class Describe, class FindStream>
  bool load_from(const char** from, const Describe& describe, const FindStream& find) const {
    const OnDevice guard(place_.device);
    const Stream stream = find();
    if (ring_ != nullptr) require_eager(stream);
    std::fill_n(from, steps_.size(), nullptr);
    for (std::size_t i = 0; i < expected_.size(); ++i) {
      const Expected& expected = expected_[i];
      DLTensor given;
      if (!describe(static_cast<std::ptrdiff_t>(i), given)) return false;
      if (!expected.is_met_by(given, axes_)) return false;
      const char* address = address_of(given);
      const bool is_in_place =
          expected.step >= 0 && !expected.staged && expected.is_in_place(address);
      if (!is_in_place && !expected.staged && place_.holds(address)) return false;
      if (expected.step >= 0) from[expected.step] = is_in_place ? nullptr : address;
    }
    if (steps_.empty()) return true;
    if (ring_ == nullptr) {
      run(from, stream);
    } else {
      run_staged(from, stream);
    }
    return true;
  }

  const Place& place_;
  std::vector<Step<kOuter>> steps_;
  std::vector<Expected> expected_;
  std::vector<Along> axes_;
  std::vector<Packing> packings_;
  std::size_t staged_bytes_ = 0;
  Ring* ring_ = nullptr;  // of the stage, which outlives the plan
};

}  // namespace ullage
