// A kernel with every dtype, each of which accepts sources of all the others.
#include <ullage/every_dtype.cuh>
#include <ullage/load.cuh>

namespace {

using Slots = ullage::EveryDtype<3>;

}  // namespace

ULLAGE_EXPORT(Slots)
