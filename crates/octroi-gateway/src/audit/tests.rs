//! The log as its users see it, and as those who would like to change it do.

mod crashes;
mod faults;
mod opening;
mod reading;
mod support;
mod tampering;
mod writing;
