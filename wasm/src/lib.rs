//! The core of Stayput for the browser.
