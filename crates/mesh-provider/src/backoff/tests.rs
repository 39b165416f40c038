//! Pauses grow, to a bound, and are never the same for two.

use super::*;

#[test]
fn waits_longer_each_time_up_to_the_limit_and_begins_anew() {
    let ms = Duration::from_millis;
    let mut backoff = Backoff::new(ms(100), ms(500));
    for whole in [100, 200, 400, 500, 500] {
        let wait = backoff.wait();
        assert!(wait >= ms(whole / 2) && wait <= ms(whole), "{wait:?} of {whole} ms");
    }
    backoff.reset();
    assert!(backoff.wait() <= ms(100));
}

#[test]
fn jitter_spans_the_upper_half() {
    let whole = Duration::from_secs(2);
    assert_eq!(jittered(whole, 0), Duration::from_secs(1));
    assert_eq!(jittered(whole, u32::MAX), whole);
}
