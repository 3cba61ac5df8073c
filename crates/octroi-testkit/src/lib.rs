//! Peers for tests.
