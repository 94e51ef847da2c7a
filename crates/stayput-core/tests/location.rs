//! One object has one name, however others spell it.

use proptest::prelude::*;
use stayput_core::location::{ForeignLocation, Location, LocationError, ObjectLocation};

fn s3(bucket: &str, key: &str) -> Location {
    ObjectLocation::new(bucket, key).into()
}

fn foreign(path: &str) -> ForeignLocation {
    match Location::parse_flink_path(path) {
        Ok(Location::Foreign(foreign)) => foreign,
        other => panic!("{path} is foreign, not {other:?}"),
    }
}

#[test]
fn all_schemes_and_slashes_name_one_object() {
    let the_object = s3("flink-state", "cp/7c1f/chk-42/_metadata");
    for path in [
        "s3://flink-state/cp/7c1f/chk-42/_metadata",
        "s3a://flink-state/cp/7c1f/chk-42/_metadata",
        "s3n://flink-state/cp/7c1f/chk-42/_metadata",
        "s3p://flink-state/cp/7c1f/chk-42/_metadata",
        "S3://flink-state/cp/7c1f/chk-42/_metadata",
        "s3://flink-state//cp///7c1f/chk-42/_metadata",
        "s3a://flink-state/cp/7c1f/chk-42/_metadata//",
    ] {
        assert_eq!(
            Location::parse_flink_path(path).as_ref(),
            Ok(&the_object),
            "{path}"
        );
        assert_eq!(Location::parse_java_uri(path).as_ref(), Ok(&the_object), "{path}");
    }
}

#[test]
fn a_flink_path_is_literal_and_a_java_uri_is_decoded_once() {
    // The same path as Flink's two spellings give it.
    let key = "a b/ü%20x#y";
    assert_eq!(Location::parse_flink_path("s3://b/a b/ü%20x#y"), Ok(s3("b", key)));
    assert_eq!(
        Location::parse_java_uri("s3://b/a%20b/ü%2520x%23y"),
        Ok(s3("b", key))
    );
    assert_eq!(Location::parse_java_uri("s3://b/a+b"), Ok(s3("b", "a+b")));
    assert_eq!(
        Location::parse_flink_path("s3://b/x/../y/."),
        Ok(s3("b", "x/../y/."))
    );
}

#[test]
fn a_bare_bucket_has_an_empty_key() {
    for path in ["s3://b", "s3a://b/", "s3://b//"] {
        assert_eq!(Location::parse_flink_path(path), Ok(s3("b", "")), "{path}");
    }
}

#[test]
fn other_file_systems_are_kept_as_they_are() {
    assert_eq!(foreign("file:/tmp/cp").local_path(), Some("/tmp/cp"));
    assert_eq!(foreign("file:///tmp//cp/"), foreign("file:/tmp/cp"));
    assert_eq!(foreign("/tmp/cp").local_path(), Some("/tmp/cp"));
    for path in [
        "hdfs://nn:8020/cp/x",
        "gs://b/x",
        "abfs://c@acc.example/x",
        "oss://b/x",
        "file:/tmp/x",
        "/tmp/x",
        "x:y",
    ] {
        assert_eq!(foreign(path).to_string(), path);
    }
    assert_eq!(
        (
            foreign("hdfs://nn:8020/x").scheme(),
            foreign("hdfs://nn:8020/x").rest()
        ),
        ("hdfs", "//nn:8020/x")
    );
    assert_eq!(foreign("hdfs://nn:8020/x").local_path(), None);
    assert_eq!(foreign("gs://b"), foreign("GS://b//"));
    let uri = Location::parse_java_uri("file:///tmp/a%20b").unwrap();
    assert_eq!(uri.to_string(), "file:/tmp/a b");
    // Looks like S3 and isn't.
    assert_eq!(foreign("s3x://b/k").scheme(), "s3x");
    assert_eq!(foreign("./s3://b/k").scheme(), "");
}

#[test]
fn what_is_no_path_is_refused_with_the_reason() {
    let flink = |path| Location::parse_flink_path(path).unwrap_err();
    let java = |path| Location::parse_java_uri(path).unwrap_err();
    assert_eq!(flink(""), LocationError::Empty);
    assert_eq!(java("s3:"), LocationError::Empty);
    for path in ["s3:///k", "s3:/k", "s3://", "s3a:///"] {
        assert_eq!(
            flink(path),
            LocationError::NoBucket { path: path.into() },
            "{path}"
        );
        assert_eq!(
            java(path),
            LocationError::NoBucket { path: path.into() },
            "{path}"
        );
    }
    assert!(java("s3://b/a%4").to_string().contains("hexadecimal"));
    assert!(java("s3://b/a%FF").to_string().contains("UTF-8"));
    assert_eq!(
        java("s3://b/k?x"),
        LocationError::QueryOrFragment {
            path: "s3://b/k?x".into(),
            at: 8
        }
    );
    assert!(java("s3://b/k#x").to_string().contains("%23"));
}

#[test]
fn directory_and_file_name_split_a_key_at_its_last_slash() {
    let of = |key| {
        let object = ObjectLocation::new("b", key);
        (
            object.directory().to_owned(),
            object.file_name().to_owned(),
            object.is_directory_marker(),
        )
    };
    assert_eq!(
        of("j/chk-3/_metadata"),
        ("j/chk-3/".into(), "_metadata".into(), false)
    );
    assert_eq!(of("_metadata"), (String::new(), "_metadata".into(), false));
    assert_eq!(of("j/chk-3/"), ("j/chk-3/".into(), String::new(), true));
    assert_eq!(of(""), (String::new(), String::new(), false));
    let sibling = ObjectLocation::new("b", "j/chk-3/_metadata").sibling("ü");
    assert_eq!(sibling.to_string(), "s3://b/j/chk-3/ü");
}

#[test]
fn a_location_is_serialised_as_people_write_it() {
    let object = ObjectLocation::new("b", "a b/ü");
    assert_eq!(serde_json::to_value(&object).unwrap(), "s3://b/a b/ü");
    assert_eq!(
        serde_json::to_value(Location::S3(object.clone())).unwrap(),
        "s3://b/a b/ü"
    );
    assert_eq!(serde_json::to_value(foreign("file:///x")).unwrap(), "file:/x");
    assert_eq!(object.as_url(), "s3://b/a%20b/%C3%BC");
    assert_eq!(object.form_encoded_key(), "a+b/%C3%BC");
}

/// Keys that Flink can name: no empty segment.
fn flink_key() -> impl Strategy<Value = String> {
    prop::collection::vec("[^/]{1,12}|%[0-9a-f]{2}|\\.|\\.\\.|[+?# ]", 1..6)
        .prop_map(|segments| segments.join("/"))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_encoding_is_undone_by_its_reader(bucket in "[a-z0-9.-]{3,20}", key in flink_key()) {
        let object = ObjectLocation::new(bucket.as_str(), key);
        let location = Location::S3(object.clone());
        prop_assert_eq!(Location::parse_flink_path(&object.to_string()), Ok(location.clone()));
        prop_assert_eq!(Location::parse_java_uri(&object.as_url()), Ok(location));
        prop_assert_eq!(ObjectLocation::from_form_encoded(bucket, &object.form_encoded_key()), Ok(object));
    }

    #[test]
    fn literal_keys_of_any_kind_survive_form_encoding(key in any::<String>()) {
        let object = ObjectLocation::new("b", key);
        prop_assert_eq!(ObjectLocation::from_form_encoded("b", &object.form_encoded_key()), Ok(object));
    }

    #[test]
    fn aliases_are_equal(
        key in flink_key(),
        scheme in prop::sample::select(vec!["s3", "s3a", "s3n", "s3p", "S3A"]),
        slashes in 1_usize..4,
        trailing in 0_usize..3,
    ) {
        let spelled = key.replace('/', &"/".repeat(slashes));
        let path = format!("{scheme}://b/{spelled}{}", "/".repeat(trailing));
        prop_assert_eq!(Location::parse_flink_path(&path), Ok(s3("b", &key)));
    }

    #[test]
    fn directory_and_file_name_make_up_the_key(key in any::<String>()) {
        let object = ObjectLocation::new("b", key.as_str());
        prop_assert_eq!(format!("{}{}", object.directory(), object.file_name()), key);
        prop_assert!(!object.file_name().contains('/'));
    }

    #[test]
    fn any_text_is_a_location_or_refused_and_reading_what_is_shown_changes_nothing(
        path in prop_oneof![any::<String>(), "(s3|file|hdfs|a)?:?/{0,3}[a-b%:/?#]{0,8}"],
    ) {
        let _ = Location::parse_java_uri(&path);
        if let Ok(location) = Location::parse_flink_path(&path) {
            prop_assert_eq!(Location::parse_flink_path(&location.to_string()), Ok(location));
        }
    }
}
