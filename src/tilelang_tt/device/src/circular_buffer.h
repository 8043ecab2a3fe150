// Between the protocol of circular buffers and what their pages hold.
#pragma once

#include "machine.h"

namespace vd {

const char* role_name(Role role);
uint32_t page_offset(uint32_t cb, uint32_t page);  // in L1

// Pages lie in a ring: after the last one comes the first. How far a page lies behind another, and whether it is among the
// `granted` ones from `first` on.
inline uint32_t pages_from(uint32_t first, uint32_t page, uint32_t pages) { return (page + pages - first) % pages; }
inline bool is_granted(uint32_t page, uint32_t first, uint32_t granted, uint32_t pages) {
    return pages_from(first, page, pages) < granted;
}

void note_unwritten(uint32_t cb, uint32_t pages);                    // the pages about to be pushed
bool is_fresh(uint32_t cb, uint32_t number);                         // nothing was written there since it was reserved
void free_pages(uint32_t cb, uint32_t pages);                        // the pages about to be popped
void renew_page(uint32_t cb, uint32_t number);                       // a page that is granted for writing
void grant_reserve(uint32_t cb, uint32_t pages);                     // for which there is room
const uint8_t* published_page(uint32_t cb, uint32_t number);         // its bytes, which somebody has written

}  // namespace vd
