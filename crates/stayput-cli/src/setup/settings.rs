//! The settings to begin with.

use std::fmt::Write as _;

use stayput_core::location::ObjectLocation;
use stayput_core::timestamp::Timestamp;

use super::Listed;

/// A settings document that observes a place from now on.
pub(super) fn text(
    place: &ObjectLocation,
    control: Option<&ObjectLocation>,
    listed: &[Listed],
    now: Timestamp,
) -> String {
    let quoted = |text: &str| toml::Value::from(text).to_string();
    let mut toml = String::from("mode = \"observe\"    # restore puts back what is needed\n");
    // Writing to a string can't fail.
    let _ = match control {
        Some(control) => writeln!(toml, "control = {}", quoted(&control.to_string())),
        None => writeln!(
            toml,
            "# control = \"s3://ops-bucket/stayput/\"    # where Stayput remembers; under no root and no expiring rule"
        ),
    };
    let _ = writeln!(
        toml,
        "protect_since = {}    # what was deleted earlier is history",
        quoted(&now.to_string())
    );
    let _ = writeln!(
        toml,
        "\n[[roots]]\nuri = {}\nkind = \"checkpoints\"",
        quoted(&place.to_string())
    );
    let _ = writeln!(toml, "\n[flink]");
    if listed.is_empty() {
        let _ = writeln!(
            toml,
            "principals = []    # the unique id (AROA…) of every cluster's role: stayput setup … --flink-role NAME"
        );
    } else {
        let _ = writeln!(toml, "principals = [");
        for principal in listed {
            let _ = writeln!(
                toml,
                "    {},    # {}",
                quoted(&principal.id),
                one_line(&principal.given)
            );
        }
        let _ = writeln!(toml, "]");
    }
    toml
}

/// A comment ends with its line.
fn one_line(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use stayput_guard::settings::{Mode, Settings};

    use super::*;

    #[test]
    fn what_is_printed_are_settings_whatever_the_names() {
        let listed = |id: &str, given: &str| Listed {
            id: id.to_owned(),
            given: given.to_owned(),
        };
        let cases = [
            ("cp/", None, vec![]),
            (
                "a \"b\"\\'c'/ü/",
                Some(ObjectLocation::new("ops", "stay\"put/")),
                vec![
                    listed("AROAONE", "flink"),
                    listed("AROATWO", "x\nmode = \"restore\""),
                ],
            ),
        ];
        for (prefix, control, principals) in cases {
            let place = ObjectLocation::new("flink-state", prefix);
            let text = text(
                &place,
                control.as_ref(),
                &principals,
                Timestamp::from_millis(1_780_000_000_000),
            );
            let settings = Settings::parse(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
            assert_eq!(settings.mode, Mode::Observe);
            assert_eq!(settings.mandate.control, control);
            let roots: Vec<String> = settings
                .mandate
                .roots
                .iter()
                .map(stayput_core::root::Root::metadata_prefix)
                .collect();
            assert_eq!(roots, [prefix]);
            let ids: Vec<&str> = principals.iter().map(|p| p.id.as_str()).collect();
            assert_eq!(settings.mandate.principals.flink, ids);
        }
    }
}
