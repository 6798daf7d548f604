// The kernel: all slots of a load in one launch.
//
// A slot is cut into rows along its last axis, a row into cells of sixteen bytes, and one thread
// moves one cell at a time: live elements from the source, all others from the fill. Sixteen
// bytes move at once where both addresses allow it, and one element at a time where not.
#pragma once

#include <ullage/elements.cuh>
#include <ullage/table.cuh>

namespace ullage {

constexpr unsigned kThreads = 128;  // a small load takes longer by 6 % with twice as many

// An axis outside of the rows. Strides are in bytes.
struct Axis {
  std::int64_t size, live, to_stride, from_stride;
};

// What is written into one slot.
template <int kOuter>
struct Step {
  char* to;
  const char* from;            // of each call; null: the live part is left as it is
  std::uint64_t fill;          // an element, repeated
  std::int64_t width, live;    // elements of a row, and how many of them are live in live rows
  std::int64_t from_stride;    // bytes between elements of the source
  std::int64_t cells;          // of all rows
  std::int64_t row_cells;      // of one row
  std::uint32_t blocks;
  std::uint32_t block_cells;   // of one block
  std::int32_t form;
  bool filled;                 // otherwise only the live part is written
  Axis outer[kOuter > 0 ? kOuter : 1];
};

// The argument of the kernel. Every step has at least one block.
template <int kOuter, int kCapacity>
struct Launch {
  std::uint32_t first_blocks[kCapacity];  // of the steps, side by side: see step_of_block
  Step<kOuter> steps[kCapacity];
};

constexpr std::uint32_t kNever = ~std::uint32_t{0};  // the first block of a step that is missing

ULLAGE_DEVICE bool is_aligned(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) % kCellBytes == 0;
}

// A quotient of numbers that are not negative. Wide division is slow, and seldom needed.
ULLAGE_DEVICE std::int64_t quotient(std::int64_t number, std::int64_t divisor) {
  if ((number | divisor) >> 32 == 0) {
    return static_cast<std::uint32_t>(number) / static_cast<std::uint32_t>(divisor);
  }
  return number / divisor;
}

template <class Element>
ULLAGE_DEVICE Element fill_of(std::uint64_t bits) {
  using Bits = Raw<sizeof(Element)>;
  const Bits narrow = static_cast<Bits>(bits);
  Element element;
  memcpy(&element, &narrow, sizeof element);
  return element;
}

template <class Element>
ULLAGE_DEVICE void store_cell(Element* to, const Element (&values)[kCellBytes / sizeof(Element)]) {
  if (is_aligned(to)) {
    Cell cell;
    memcpy(&cell, values, sizeof cell);
    *reinterpret_cast<Cell*>(to) = cell;
    return;
  }
  ULLAGE_UNROLL
  for (int i = 0; i < int(kCellBytes / sizeof(Element)); ++i) to[i] = values[i];
}

template <class To, class From>
ULLAGE_DEVICE void copy_cell(To* to, const char* from, std::int64_t stride) {
  if constexpr (std::is_same_v<To, From>) {
    if (stride == sizeof(To) && is_aligned(from) && is_aligned(to)) {
      *reinterpret_cast<Cell*>(to) = *reinterpret_cast<const Cell*>(from);
      return;
    }
  }
  constexpr int kCount = kCellBytes / sizeof(To);
  alignas(kCellBytes) To values[kCount];
  ULLAGE_UNROLL
  for (int i = 0; i < kCount; ++i) {
    values[i] = cast<To>(*reinterpret_cast<const From*>(from + i * stride));
  }
  store_cell(to, values);
}

template <class To>
ULLAGE_DEVICE void fill_cell(To* to, std::uint64_t fill) {
  constexpr int kCount = kCellBytes / sizeof(To);
  alignas(kCellBytes) To values[kCount];
  ULLAGE_UNROLL
  for (int i = 0; i < kCount; ++i) values[i] = fill_of<To>(fill);
  store_cell(to, values);
}

template <class To, class From, int kOuter>
ULLAGE_DEVICE void write_cell(const Step<kOuter>& step, std::int64_t cell) {
  constexpr int kCount = kCellBytes / sizeof(To);
  char* to = step.to;
  const char* from = step.from;
  bool is_live = true;
  if constexpr (kOuter > 0) {
    if (step.row_cells != step.cells) {
      std::int64_t row = quotient(cell, step.row_cells);
      cell -= row * step.row_cells;
      ULLAGE_UNROLL
      for (int i = kOuter - 1; i >= 0; --i) {
        const Axis& axis = step.outer[i];
        const std::int64_t rest = quotient(row, axis.size), index = row - rest * axis.size;
        row = rest;
        to += index * axis.to_stride;
        from += index * axis.from_stride;
        is_live = is_live && index < axis.live;
      }
    }
  }
  const std::int64_t begin = cell * kCount;
  const std::int64_t present = step.width - begin;
  const std::int64_t copied = is_live ? step.live - begin : 0;
  const bool is_copied = step.from != nullptr;
  To* target = reinterpret_cast<To*>(to) + begin;
  from += begin * step.from_stride;
  if (present >= kCount && copied >= kCount) {
    if (is_copied) copy_cell<To, From>(target, from, step.from_stride);
    return;
  }
  if (present >= kCount && copied <= 0) {
    if (step.filled) fill_cell(target, step.fill);
    return;
  }
  To values[kCount];  // read first, so that no read waits for a write
  ULLAGE_UNROLL
  for (int i = 0; i < kCount; ++i) {
    if (is_copied && i < copied && i < present) {
      values[i] = cast<To>(*reinterpret_cast<const From*>(from + i * step.from_stride));
    }
  }
  ULLAGE_UNROLL
  for (int i = 0; i < kCount; ++i) {
    if (i >= present) return;
    if (i < copied) {
      if (is_copied) target[i] = values[i];
    } else if (step.filled) {
      target[i] = fill_of<To>(step.fill);
    }
  }
}

constexpr int kAtOnce = 4;

// Moves cells of a single row that are live as a whole, several at once, so that many reads are
// under way. Answers the first cell that is left to this thread.
template <class Element, int kOuter>
ULLAGE_DEVICE std::int64_t move_cells(const Step<kOuter>& step, std::int64_t cell,
                                      std::int64_t end) {
  if (step.row_cells != step.cells || step.from_stride != sizeof(Element)) return cell;
  if (step.from == nullptr || !is_aligned(step.from) || !is_aligned(step.to)) return cell;
  const std::int64_t live = step.live * std::int64_t{sizeof(Element)} / kCellBytes;
  const std::int64_t whole = live < end ? live : end;
  const Cell* from = reinterpret_cast<const Cell*>(step.from);
  Cell* to = reinterpret_cast<Cell*>(step.to);
  for (; cell + (kAtOnce - 1) * kThreads < whole; cell += kAtOnce * kThreads) {
    Cell cells[kAtOnce];
    ULLAGE_UNROLL
    for (int i = 0; i < kAtOnce; ++i) cells[i] = from[cell + i * kThreads];
    ULLAGE_UNROLL
    for (int i = 0; i < kAtOnce; ++i) to[cell + i * kThreads] = cells[i];
  }
  return cell;
}

// The step that a block belongs to. Arguments come line by line, and slowly at first: all first
// blocks are read without waiting for one another, where a search would wait for each step.
template <int kOuter, int kCapacity>
ULLAGE_DEVICE int step_of_block(const Launch<kOuter, kCapacity>& launch, unsigned block) {
  int number = 0;
  ULLAGE_UNROLL
  for (int i = 1; i < kCapacity; ++i) {
    if (launch.first_blocks[i] <= block) number = i;
  }
  return number;
}

// What one thread of one block does.
template <class Forms, int kOuter, int kCapacity>
ULLAGE_DEVICE void write_cells(const Launch<kOuter, kCapacity>& launch, unsigned block,
                               unsigned thread) {
  const int number = step_of_block(launch, block);
  const Step<kOuter> step = launch.steps[number];  // a copy is read as a whole, for the same reason
  const std::int64_t begin =
      std::int64_t{block - launch.first_blocks[number]} * step.block_cells;
  const std::int64_t end =
      begin + step.block_cells < step.cells ? begin + step.block_cells : step.cells;
  with_form(Forms{}, step.form, [&](auto form) {
    using To = typename decltype(form)::To;
    using From = typename decltype(form)::From;
    std::int64_t cell = begin + thread;
    if (step.block_cells == kThreads) {  // of a small slot: without the loops, which cost time
      if (cell < end) write_cell<To, From>(step, cell);
      return;
    }
    if constexpr (std::is_same_v<To, From>) cell = move_cells<To>(step, cell, end);
    for (; cell < end; cell += kThreads) write_cell<To, From>(step, cell);
  });
}

#ifdef __CUDACC__
template <class Forms, int kOuter, int kCapacity>
__global__ void __launch_bounds__(kThreads)
    load_slots(const __grid_constant__ Launch<kOuter, kCapacity> launch) {
  write_cells<Forms>(launch, blockIdx.x, threadIdx.x);
}
#endif

}  // namespace ullage
