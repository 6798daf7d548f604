// The library of a CPU: one for all runners, since a host needs no kernel for each of them.
#include <ullage/every_dtype.cuh>
#include <ullage/load.cuh>

namespace {

using Slots = ullage::EveryDtype<8>;  // see HOST_DIMENSIONS

}  // namespace

ULLAGE_EXPORT(Slots)
