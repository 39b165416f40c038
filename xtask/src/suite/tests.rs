//! Which cases are due.

use std::path::Path;

use super::is_due;

#[test]
fn a_case_is_due_by_its_name() {
    for due in ["accept-two-nodes.case", "secret-exposed.case"] {
        assert!(is_due(&Path::new("plan").join(due)), "{due}");
    }
    for other in ["accept-two-nodes.txt", "bad-binding.case", "README"] {
        assert!(!is_due(&Path::new("plan").join(other)), "{other}");
    }
}
