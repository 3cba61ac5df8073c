//! The audit log from the perspective of users and of attackers.

mod compressed_tampering;
mod compression;
mod crashes;
mod faults;
mod opening;
mod reading;
mod support;
mod tampering;
mod writing;
