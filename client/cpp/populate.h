// Memory that is about to be filled.
#ifndef CORANK_CLIENT_CPP_POPULATE_H_
#define CORANK_CLIENT_CPP_POPULATE_H_

#include <cstddef>

namespace corank::client {

/// Has the system put pages behind [data, data + bytes), large ones if it has them and by several threads, without
/// reading or writing what is there. A vector fills itself with zeros on one thread, which spends most of its time on
/// faults for pages that are not there yet. Nothing happens where there is little of it, which the allocator may have
/// used before, and where the system cannot (Linux before 5.14).
void Populate(void* data, size_t bytes);

}  // namespace corank::client

#endif  // CORANK_CLIENT_CPP_POPULATE_H_
