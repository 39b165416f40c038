//! The program `age`: a test opens with it what mesh seals, as whoever has lost everything else would.

use crate::place::Place;

pub(super) const PACKAGE: &str = "age";
pub(super) const WHY: &str = "tests open with it what is sealed to recipients of escrow";

pub(super) fn is_there(place: &Place) -> bool {
    place.on_path("age").is_some()
}
