// A table that serves any runner: slots of every dtype, from sources of all the others.
#pragma once

#include <ullage/table.cuh>

namespace ullage {

template <class Element, int kDimensions>
using AnySlot = Slot<Element, kDimensions, bool, std::uint8_t, std::int8_t, std::int16_t,
                     std::int32_t, std::int64_t, float16, bfloat16, float, double>;

template <int kDimensions>
using EveryDtype =
    Table<AnySlot<bool, kDimensions>, AnySlot<std::uint8_t, kDimensions>,
          AnySlot<std::int8_t, kDimensions>, AnySlot<std::int16_t, kDimensions>,
          AnySlot<std::int32_t, kDimensions>, AnySlot<std::int64_t, kDimensions>,
          AnySlot<float16, kDimensions>, AnySlot<bfloat16, kDimensions>,
          AnySlot<float, kDimensions>, AnySlot<double, kDimensions>>;

}  // namespace ullage
