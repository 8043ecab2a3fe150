// The watcher's ring buffer; nobody reads it here.
#pragma once

#define WATCHER_RING_BUFFER_INIT()
#define WATCHER_RING_BUFFER_PUSH(word) ((void)sizeof(word))
