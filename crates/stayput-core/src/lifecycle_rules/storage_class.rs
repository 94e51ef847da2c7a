//! Storage classes: which can be read at once, and the order in which rules move objects.

/// Whether an object in this class can be read without being thawed first. `None`: not known. `INTELLIGENT_TIERING` has archive tiers, if the
/// bucket's owner opted in, and other stores have classes of their own.
pub fn is_readable(storage_class: &str) -> Option<bool> {
    match storage_class {
        "GLACIER" | "DEEP_ARCHIVE" => Some(false),
        "STANDARD" | "REDUCED_REDUNDANCY" | "STANDARD_IA" | "ONEZONE_IA" | "GLACIER_IR"
        | "EXPRESS_ONEZONE" => Some(true),
        _ => None,
    }
}

/// Whether transitions lead from one class to the other. Of classes that aren't S3's own nothing is known: they do.
pub(super) fn leads(from: &str, to: &str) -> bool {
    match (step(from), step(to)) {
        // Down the stairs, but between these two there is no step.
        (Some(a), Some(b)) => b > a && (from, to) != ("ONEZONE_IA", "GLACIER_IR"),
        _ => from != to,
    }
}

/// Of transitions that are due on one day S3 chooses the one to the class with the highest number: the cheapest, but Intelligent-Tiering before
/// whatever is no archive.
pub(super) fn preference(storage_class: &str) -> u8 {
    match storage_class {
        "STANDARD_IA" => 1,
        "ONEZONE_IA" => 2,
        "GLACIER_IR" => 3,
        "INTELLIGENT_TIERING" => 4,
        "GLACIER" => 5,
        "DEEP_ARCHIVE" => 6,
        // Nobody knows what it costs.
        _ => u8::MAX - 1,
    }
}

/// The step on the stairs down which transitions lead; the highest number is the cheapest. `None`: not S3's own class.
pub(super) fn step(storage_class: &str) -> Option<u8> {
    Some(match storage_class {
        "STANDARD" | "REDUCED_REDUNDANCY" => 0,
        "STANDARD_IA" => 1,
        "INTELLIGENT_TIERING" => 2,
        "ONEZONE_IA" => 3,
        "GLACIER_IR" => 4,
        "GLACIER" => 5,
        "DEEP_ARCHIVE" => 6,
        _ => return None,
    })
}

/// Whether S3 has a class of this name. Other stores have classes of their own.
pub fn is_of_s3(storage_class: &str) -> bool {
    step(storage_class).is_some() || is_readable(storage_class).is_some()
}
