//! The fields of a file lie one behind the other, from the first byte to the last: none is read twice, none is
//! passed over.

mod support;

use flink_checkpoint::{Field, Limits, fields};

#[test]
fn fields_tile_every_file_of_the_corpus() {
    let mut kinds = std::collections::HashSet::new();
    for case in support::all_cases() {
        let (name, bytes) = (support::name(&case), support::metadata(&case));
        let mut at = 0;
        fields(&bytes, &Limits::default(), &mut |field, span| {
            assert_eq!(span.start, at, "{name}: {field}");
            assert!(span.start <= span.end && span.of(&bytes).is_some());
            at = span.end;
            kinds.insert(field);
        })
        .unwrap();
        assert_eq!(at, bytes.len(), "{name}");
    }
    assert!(kinds.len() >= 60, "only {} kinds of fields were met", kinds.len());
    assert!(kinds.contains(&Field::Properties) && kinds.contains(&Field::LogicalFileId));
}
