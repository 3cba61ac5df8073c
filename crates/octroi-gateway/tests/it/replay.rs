//! The inputs in `fuzz/seeds`, each within a generous limit. The fuzz targets are stricter and measure memory too.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::cost::{NANOSECONDS_FOR_BYTE, NANOSECONDS_MAX, TARGETS};

/// How much slower than the fuzz targets this may be: a build without optimisation on a machine with other work.
const FACTOR: u64 = 50;

/// How often a step is repeated before it counts as too slow.
const REPETITIONS: usize = 3;

#[test]
#[expect(clippy::disallowed_methods, reason = "a test of how long it takes")]
fn kept_inputs_cost_what_they_may() {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds");
    for (name, target) in TARGETS {
        let directory = seeds.join(name);
        let mut files: Vec<_> = directory.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        assert!(files.len() >= 5, "{} has only {} files", directory.display(), files.len());
        for file in files {
            let input = std::fs::read(&file).unwrap();
            let mut n_steps = 0;
            target(&input, &mut |step, n_bytes, work| {
                n_steps += 1;
                let limit = (NANOSECONDS_MAX + NANOSECONDS_FOR_BYTE * n_bytes as u64) * FACTOR;
                let limit = Duration::from_nanos(limit);
                let mut fastest = Duration::MAX;
                for _ in 0..REPETITIONS {
                    let begun = Instant::now();
                    work();
                    fastest = fastest.min(begun.elapsed());
                    if fastest <= limit {
                        break;
                    }
                }
                let name = file.display();
                assert!(fastest <= limit, "{name}: {step} takes {fastest:?} for {n_bytes} bytes");
            });
            assert!(n_steps > 0, "{} is not an input of {name}", file.display());
        }
    }
}
