// A kernel with one dtype of each size, each of which accepts sources of all the others.
#include <ullage/load.cuh>

namespace {

using ullage::bfloat16;
using std::int32_t, std::int64_t;

template <class Element>
using AnySlot = ullage::Slot<Element, 3, bool, bfloat16, int32_t, int64_t>;

using Slots =
    ullage::Table<AnySlot<bool>, AnySlot<bfloat16>, AnySlot<int32_t>, AnySlot<int64_t>>;

}  // namespace

ULLAGE_EXPORT(Slots)
