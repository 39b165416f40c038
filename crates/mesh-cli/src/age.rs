//! How long ago a moment was, as people say it: `42s`, `3m`, `5h`, `12d`.

use mesh_model::wire::Timestamp;
use time::OffsetDateTime;

/// Until now, by this machine's clock; the moment may be of another's, so what lies ahead is `0s`.
pub(crate) fn age(moment: Timestamp) -> String {
    between(moment.moment(), OffsetDateTime::now_utc())
}

fn between(moment: OffsetDateTime, now: OffsetDateTime) -> String {
    let seconds = (now - moment).whole_seconds().max(0);
    match seconds {
        0..=99 => format!("{seconds}s"),
        100..=5_999 => format!("{}m", seconds / 60),
        6_000..=359_999 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use time::Duration;

    use super::*;

    #[test]
    fn the_unit_fits() {
        let now = OffsetDateTime::UNIX_EPOCH + Duration::days(1000);
        let cases = [(-5, "0s"), (42, "42s"), (99, "99s"), (100, "1m"), (6_000, "1h"), (864_000, "10d")];
        for (seconds, said) in cases {
            assert_eq!(between(now - Duration::seconds(seconds), now), said);
        }
    }
}
