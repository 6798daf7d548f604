// Writing slots where the device is the host: one slot after the other, a row at a time.
#pragma once

#include <algorithm>
#include <cstring>

#include <ullage/device.cuh>
#include <ullage/layout.cuh>

namespace ullage {

// `stride`: bytes between elements of the source.
template <class To, class From>
void copy_row(char* to, const char* from, std::int64_t count, std::int64_t stride) {
  constexpr std::int64_t kDense = sizeof(From);
  To* const target = reinterpret_cast<To*>(to);
  if (stride != kDense) {
    for (std::int64_t i = 0; i < count; ++i) {
      target[i] = cast<To>(*reinterpret_cast<const From*>(from + i * stride));
    }
  } else if constexpr (std::is_same_v<To, From>) {
    std::memcpy(to, from, count * sizeof(To));
  } else {
    const From* const source = reinterpret_cast<const From*>(from);
    for (std::int64_t i = 0; i < count; ++i) target[i] = cast<To>(source[i]);
  }
}

template <class Element>
void fill_row(char* to, std::uint64_t fill, std::int64_t count) {
  std::fill_n(reinterpret_cast<Element*>(to), count, fill_of<Element>(fill));
}

// How to write rows of one form.
struct RowWriter {
  void (*copy)(char* to, const char* from, std::int64_t count, std::int64_t stride);
  void (*fill)(char* to, std::uint64_t fill, std::int64_t count);
  std::int64_t bytes;  // of an element of the slot
};

template <class... Forms>
const RowWriter& row_writer(FormList<Forms...>, int form) {
  static constexpr RowWriter kWriters[] = {
      {&copy_row<typename Forms::To, typename Forms::From>,
       &fill_row<Raw<sizeof(typename Forms::To)>>, sizeof(typename Forms::To)}...};
  return kWriters[form];
}

// `from`: null where nothing is copied.
template <int kOuter>
void write_row(const Step<kOuter>& step, const RowWriter& writer, char* to, const char* from,
               bool is_live) {
  const std::int64_t live = is_live ? step.live : 0;
  if (from != nullptr && live > 0) writer.copy(to, from, live, step.from_stride);
  if (step.filled && live < step.width) {
    writer.fill(to + live * writer.bytes, step.fill, step.width - live);
  }
}

// All rows along the outer axes from the one of number `first`.
template <int kOuter>
void write_rows(const Step<kOuter>& step, const RowWriter& writer, int first, char* to,
                const char* from, bool is_live) {
  if (first == kOuter) return write_row(step, writer, to, from, is_live);
  const Axis& axis = step.outer[first];
  for (std::int64_t i = 0; i < axis.size; ++i) {
    const char* source = from == nullptr ? nullptr : from + i * axis.from_stride;
    write_rows(step, writer, first + 1, to + i * axis.to_stride, source,
               is_live && i < axis.live);
  }
}

// What stands for the kernels of a device.
template <class Table>
class Kernels {
 public:
  static constexpr int kOuter = Table::dimensions() - 1;
  using OneStep = Step<kOuter>;

  // Writes all steps, each from its own address.
  static void run(const OneStep* steps, const char* const* from, int count, Stream) {
    for (int i = 0; i < count; ++i) {
      const OneStep& step = steps[i];
      const RowWriter& writer = row_writer(typename Table::Forms{}, step.form);
      const int first = step.row_cells == step.cells ? kOuter : 0;  // of a single row
      write_rows(step, writer, first, step.to, from[i], true);
    }
  }

  static void load_all_code() {}
};

}  // namespace ullage
