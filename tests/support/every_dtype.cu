// A table with every dtype, each of which accepts sources of all the others.
#include <ullage/load.cuh>

namespace {

using ullage::bfloat16, ullage::float16;
using std::int16_t, std::int32_t, std::int64_t, std::int8_t, std::uint8_t;

template <class Element>
using AnySlot = ullage::Slot<Element, 3, bool, uint8_t, int8_t, int16_t, int32_t, int64_t, float16,
                             bfloat16, float, double>;

using Slots =
    ullage::Table<AnySlot<bool>, AnySlot<uint8_t>, AnySlot<int8_t>, AnySlot<int16_t>,
                  AnySlot<int32_t>, AnySlot<int64_t>, AnySlot<float16>, AnySlot<bfloat16>,
                  AnySlot<float>, AnySlot<double>, ullage::Slot<int64_t, 1>>;

}  // namespace

ULLAGE_EXPORT(Slots)
