// How a slot and its source become a step of the kernel: axes that lie one behind the other are
// one axis, the last one is the row, and rows are cut into cells.
#pragma once

#include <dlpack/dlpack.h>

#include <optional>
#include <stdexcept>

#include <ullage/kernel.cuh>

namespace ullage {

// An axis of a slot at its padded shape. Strides are in elements of the slot and of its source.
struct Extent {
  std::int64_t size, live, to_stride, from_stride;
};

// The most that a tensor of torch has.
constexpr int kMostAxes = 64;

// Axes from the outermost to the row, on the stack: every shape that is new makes some.
class Axes {
 public:
  void add(const Extent& axis) {
    if (count_ > kMostAxes) throw std::invalid_argument("a slot has too many axes");
    axes_[count_++] = axis;
  }

  int size() const { return count_; }
  bool empty() const { return count_ == 0; }
  Extent& back() { return axes_[count_ - 1]; }
  const Extent& operator[](int position) const { return axes_[position]; }
  const Extent* begin() const { return axes_; }
  const Extent* end() const { return axes_ + count_; }

 private:
  Extent axes_[kMostAxes + 1];  // and a row of one
  int count_ = 0;
};

// A slot to load. `source` and what `fill` has to say may be missing, and `live` where nothing is;
// `staged`: whether the source is on the host, and the device reads it elsewhere.
struct SlotLoad {
  const DLTensor* view;
  const DLTensor* source;
  const std::int64_t* live;
  bool filled;
  std::uint64_t fill;
  bool staged = false;
};

inline char* address_of(const DLTensor& tensor) {
  return static_cast<char*>(tensor.data) + tensor.byte_offset;
}

inline int bytes_of(DLDataType dtype) { return (dtype.bits * dtype.lanes + 7) / 8; }

// The axes that a load writes: the whole view, or its live part where nothing is filled.
inline Axes written_axes(const SlotLoad& load) {
  bool has_live = load.live != nullptr;
  for (int i = 0; has_live && i < load.view->ndim; ++i) has_live = load.live[i] > 0;
  Axes axes;
  for (int i = 0; i < load.view->ndim; ++i) {
    const std::int64_t live = has_live ? load.live[i] : 0, step = load.view->strides[i];
    const std::int64_t from = load.source == nullptr ? step : load.source->strides[i];
    axes.add({load.filled ? load.view->shape[i] : live, live, step, from});
  }
  return axes;
}

inline bool follows(const Extent& inner, const Extent& outer) {
  if (outer.to_stride != inner.size * inner.to_stride) return false;
  if (outer.live == 0) return true;
  return inner.live == inner.size && outer.from_stride == inner.size * inner.from_stride;
}

// As few axes as possible, the last of which has no gaps.
inline Axes joined(const Axes& axes) {
  Axes result;
  std::int64_t live = 1;
  for (const Extent& axis : axes) {
    live = axis.live > 0 ? live : 0;
    if (axis.size == 1) continue;
    if (!result.empty() && follows(axis, result.back())) {
      const Extent outer = result.back();
      result.back() = {outer.size * axis.size, outer.live * axis.size, axis.to_stride,
                       axis.from_stride};
    } else {
      result.add(axis);
    }
  }
  if (result.empty() || result.back().to_stride != 1) result.add({1, live, 1, 1});
  return result;
}

constexpr std::int64_t kManyCells = 1 << 18;

// Blocks of one cell for each thread spread a small load over the device; a large one fills it.
inline std::uint32_t cells_of_a_block(std::int64_t cells) {
  return cells < kManyCells ? kThreads : kAtOnce * kThreads;
}

// The step that writes a slot, without its first block; none if there is nothing to write.
// std::invalid_argument for dtypes or a layout that no slot of the runner has.
template <class Table, int kOuter>
std::optional<Step<kOuter>> step_of(const SlotLoad& load) {
  const DLTensor& view = *load.view;
  if (load.source == nullptr && !load.filled) return std::nullopt;
  const Axes written = written_axes(load);
  for (const Extent& axis : written) {
    if (axis.size == 0) return std::nullopt;
  }
  Axes axes = joined(written);
  const DLDataType from = load.source == nullptr ? view.dtype : load.source->dtype;
  const int form = number_of_form(typename Table::Forms{}, view.dtype, from);
  const Extent row = axes.back();
  const int outer = axes.size() - 1;
  if (form < 0) throw std::invalid_argument("no slot of the runner has these dtypes");
  if (outer > kOuter) throw std::invalid_argument("no slot of the runner has so many axes");

  Step<kOuter> step{};
  const int bytes = bytes_of(view.dtype), from_bytes = bytes_of(from);
  step.to = address_of(view);
  step.fill = load.fill;
  step.width = row.size;
  step.live = row.live;
  step.from_stride = row.from_stride * from_bytes;
  step.row_cells = (row.size * bytes + kCellBytes - 1) / kCellBytes;
  step.cells = step.row_cells;
  step.form = form;
  step.filled = load.filled;
  for (int i = 0; i < kOuter; ++i) {
    // Missing axes stand in front, with a single row.
    const int position = i - (kOuter - outer);
    if (position < 0) {
      step.outer[i] = {1, 1, 0, 0};
      continue;
    }
    const Extent& axis = axes[position];
    step.outer[i] = {axis.size, axis.live, axis.to_stride * bytes, axis.from_stride * from_bytes};
    step.cells *= axis.size;
  }
  step.block_cells = cells_of_a_block(step.cells);
  step.blocks =
      static_cast<std::uint32_t>((step.cells + step.block_cells - 1) / step.block_cells);
  return step;
}

}  // namespace ullage
