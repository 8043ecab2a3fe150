// On these chips a kernel has one thread.
#pragma once

#include <cstdint>

inline uint32_t get_num_threads() { return 1; }
inline uint32_t get_my_thread_id() { return 0; }
inline void sync_threads() {}
