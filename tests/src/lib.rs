//! Whole-system tests of Stayput.
