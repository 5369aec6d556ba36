//! Tests of the screens, in one program. The module `http` is private in the library, so its unit tests run here.

#![cfg(target_os = "linux")]

mod driver;
#[allow(dead_code)]
#[path = "../src/http.rs"]
mod http;
mod screens;
