//! Counts the bytes that are allocated at the same time.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

static HELD: AtomicU64 = AtomicU64::new(0);
static PEAK: AtomicU64 = AtomicU64::new(0);

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn add(n_bytes: usize) {
    let held = HELD.fetch_add(n_bytes as u64, Ordering::Relaxed) + n_bytes as u64;
    PEAK.fetch_max(held, Ordering::Relaxed);
}

fn remove(n_bytes: usize) {
    HELD.fetch_sub(n_bytes as u64, Ordering::Relaxed);
}

// SAFETY: everything is handed on to the allocator of the system; only sums are kept.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        remove(layout.size());
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        add(size);
        remove(layout.size());
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// Begins to watch; returns what is held already.
pub(super) fn start() -> u64 {
    let held = HELD.load(Ordering::Relaxed);
    PEAK.store(held, Ordering::Relaxed);
    held
}

/// The most that was held at the same time, beyond what was held before.
pub(super) fn peak_since(held: u64) -> u64 {
    PEAK.load(Ordering::Relaxed).saturating_sub(held)
}
